"""Posts messages as a chat backend does that uses PyPI's tencentcloud-sdk-python-im, unmodified.

    tencent_sdk_client.py URL SDKAPPID SECRET_KEY ADMINISTRATOR

Standard input is a JSON object {"to": ACCOUNT, "batch": [ACCOUNT, ...], "push": OfflinePushInfo}. It imports the first
account, posts one message to it, one to the batch, one to the group "team" and one to the batch as some of its members,
and prints the five answers in a line of JSON.
"""
import json
import sys

from tencentcloud_im.tcim_client import BatchMessageObj, MessageObj, MessageText, TCIMClient

url, sdk_app_id, secret_key, administrator = sys.argv[1:]
order = json.load(sys.stdin)
client = TCIMClient(int(sdk_app_id), secret_key, administrator, tencent_url=url)

imported = client.add_single_user(order["to"], "Nick", "https://example.com/face.png")

message = MessageObj("shop", order["to"], [MessageText("your order is on its way")])
message.OfflinePushInfo = order["push"]
sent = client.send_message(message)

batch = BatchMessageObj("shop", order["batch"], [MessageText("your order is on its way")])
batch.OfflinePushInfo = order["push"]
sent_batch = client.batch_send_message(batch)

text = [MessageText("your order is on its way")]
sent_group = client.send_group_message("team", text, from_account="shop", msgPriority="High")
sent_members = client.send_group_message("team", text, to_accounts=order["batch"])

answers = (imported, sent, sent_batch, sent_group, sent_members)
print(json.dumps([{"status": answer.status_code, "body": answer.json()} for answer in answers]))

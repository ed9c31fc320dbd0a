"""Posts as a chat backend does that uses PyPI's timsdk. Only the host is another one: timsdk has Tencent's in its code.

    timsdk_client.py URL SDKAPPID SECRET_KEY ADMINISTRATOR

Standard input is a JSON object {"to": [ACCOUNT, ...], "text": TEXT}. It imports the accounts, sends the text to the
first one and then to all of them, and prints the answers in a line of JSON.
"""
import json
import sys

from timsdk import HttpClient, TimClient

url, sdk_app_id, secret_key, administrator = sys.argv[1:]
order = json.load(sys.stdin)

tencents_url = HttpClient.get_url
HttpClient.get_url = lambda *arguments: tencents_url(*arguments).replace("https://console.tim.qq.com", url)

client = TimClient(int(sdk_app_id), secret_key, administrator)
answers = [
    client.im_open_login_svc.account_import(order["to"][0], nick="Nick"),
    client.im_open_login_svc.im_open_login_svc(order["to"]),
    client.open_im.send_text_msg(order["to"][0], order["text"], from_account=order["to"][0]),
    client.open_im.batch_send_text_msg(order["to"], order["text"]),
]
print(json.dumps(answers))

"""UserSigs of Tencent's own generator, PyPI's tls-sig-api-v2, in requests as backends and phones make them.

    tls_sig_client.py URL SDKAPPID SECRET_KEY ADMINISTRATOR USERSIG

USERSIG is one that somebody else made for the administrator; the generator's own signature must be in it. Standard
input is a JSON object {"message": BODY OF sendmsg, "accounts": [ACCOUNT, ...]}. With and without userbuf it posts the
message as the administrator and lists the registrations of each account as the account itself, and prints a line of
JSON: for each answer its status and body.
"""
import json
import sys
import zlib

import requests
from TLSSigAPIv2 import TLSSigAPIv2, base64_decode_url

url, sdk_app_id, secret_key, administrator, foreign = sys.argv[1:]
order = json.load(sys.stdin)
generator = TLSSigAPIv2(int(sdk_app_id), secret_key)

# The package has no verifier, but the function that signs.
fields = json.loads(zlib.decompress(base64_decode_url(foreign.encode())))
assert fields["TLS.ver"] == "2.0" and fields["TLS.sdkappid"] == int(sdk_app_id), fields
signature = generator._TLSSigAPIv2__hmacsha256(fields["TLS.identifier"], fields["TLS.time"], fields["TLS.expire"])
assert fields["TLS.identifier"] == administrator and fields["TLS.sig"] == signature.decode(), fields


def user_sigs(identifier):
    yield generator.gen_sig(identifier, 86400)
    yield generator.gen_sig_with_userbuf(identifier, 86400, "пользователь".encode())


answers = []
for user_sig in user_sigs(administrator):
    query = {"sdkappid": sdk_app_id, "identifier": administrator, "usersig": user_sig, "random": 99999999}
    body = json.dumps(order["message"]).encode()
    answers.append(requests.post(url + "/v4/openim/sendmsg", params=query, data=body, timeout=10))
for account in order["accounts"]:
    for user_sig in user_sigs(account):
        headers = {"Authorization": "Bearer " + user_sig}
        answers.append(requests.get(url + "/v1/registrations", headers=headers, timeout=10))
print(json.dumps([{"status": answer.status_code, "body": answer.json()} for answer in answers]))

"""Checks requests with botocore: prints a list with true for each whose signature and checksum are right."""
import base64
import hashlib
import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def is_valid(sent):
    headers = sent["headers"]
    body = base64.b64decode(sent["body"])
    algorithm, fields = headers["authorization"].split(" ", 1)
    given = dict(field.strip().split("=", 1) for field in fields.split(","))
    access_key, _, region, service, _ = given["Credential"].split("/")
    if algorithm != "AWS4-HMAC-SHA256" or access_key != sent["access_key"] or region != sent["region"]:
        return False
    if "x-amz-content-sha256" in headers and headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
        return False
    signed = given["SignedHeaders"].split(";")
    if "host" not in signed or "x-amz-date" not in signed:
        return False
    request = AWSRequest(method="POST", url=sent["url"], data=body, headers={name: headers[name] for name in signed})
    request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(Credentials(access_key, sent["secret_key"]), service, region)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return auth.signature(text, request) == given["Signature"]


print(json.dumps([is_valid(sent) for sent in json.loads(sys.argv[1])]))

import type { OutgoingRequest } from '../../core/contract/provider.ts'
import { CredentialsError } from '../shared/authorize.ts'
import { findAwsEndpoint } from '../shared/aws-endpoint.ts'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiration?: Date
}

interface Scope {
  readonly credentials: AwsCredentials
  readonly region: string
  readonly service: string
}

/** Returns the headers that sign a request. */
export type SignRequest = (
  request: Pick<OutgoingRequest, 'method' | 'url' | 'headers' | 'body'>,
  scope: Scope,
) => Promise<Readonly<Record<string, string>>>

interface Assumption {
  readonly role_arn: string
  readonly region: string
  readonly credentials: AwsCredentials
  readonly sign: SignRequest
  readonly signal: AbortSignal
}

const STEP = 'assuming the role'

/**
 * Exchanges credentials for those of a role, valid for an hour:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html. Rejects with a `CredentialsError`.
 */
export async function assumeRole(assumption: Assumption): Promise<AwsCredentials> {
  const { role_arn, region, credentials, sign, signal } = assumption
  const url = new URL(findAwsEndpoint('sts', region))
  const fields = { Action: 'AssumeRole', Version: '2011-06-15', RoleArn: role_arn }
  const body = Buffer.from(String(new URLSearchParams({ ...fields, RoleSessionName: 'signalbox' })))
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
  const signed = await sign({ method: 'POST', url, headers, body }, { credentials, region, service: 'sts' })
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, ...signed },
    body,
    signal,
    redirect: 'error',
  }).catch((error: Error) => {
    throw new CredentialsError(STEP, error.name)
  })
  const text = await response.text()
  if (!response.ok) throw new CredentialsError(STEP, readTag(text, 'Code'))
  const accessKeyId = readTag(text, 'AccessKeyId')
  const secretAccessKey = readTag(text, 'SecretAccessKey')
  const sessionToken = readTag(text, 'SessionToken')
  const expiration = new Date(readTag(text, 'Expiration') ?? '')
  if (!accessKeyId || !secretAccessKey || !sessionToken || Number.isNaN(expiration.getTime()))
    throw new CredentialsError(STEP, 'UnusableReply')
  return { accessKeyId, secretAccessKey, sessionToken, expiration }
}

/** The texts that are read hold no references of XML. */
function readTag(xml: string, tag: string): string | undefined {
  return new RegExp(`<${tag}>([^<&]+)</${tag}>`).exec(xml)?.[1]
}

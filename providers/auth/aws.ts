import { createHash, createHmac } from 'node:crypto'
import { homedir } from 'node:os'
import path from 'node:path'
import type { OutgoingRequest } from '../../core/contract/provider.ts'
import { CredentialsError } from '../shared/authorize.ts'
import type { Authorizer, CloudRow } from './authorizer.ts'
import { type AwsCredentials, assumeRole, type SignRequest } from './aws-role.ts'
import { createShortLived, type Expiring, renewOnChange } from './short-lived.ts'

/** What signatures are made by. It exists once there are credentials. */
interface Signing {
  readonly credentials: AwsCredentials
  readonly sign: SignRequest
}

/**
 * Authorizes by AWS Signature Version 4, with the credentials of AWS's default chain: environment, profile,
 * web identity, container, instance (docs/guides/bedrock.md). Changed files of profiles are read again.
 */
export function createAwsAuthorizer(row: CloudRow): Authorizer {
  const { role_arn, region = 'us-east-1' } = row
  // The same for all credentials, so that equal ones count as equal.
  let signer: Promise<SignRequest> | undefined

  async function fetchSigning(signal: AbortSignal): Promise<Expiring<Signing>> {
    signer ??= createSign()
    const sign = await signer
    const own = await findCredentials(row)
    const credentials =
      role_arn === undefined ? own : await assumeRole({ role_arn, region, credentials: own, sign, signal })
    return { value: { credentials, sign }, expiresAt: credentials.expiration?.getTime() }
  }

  const signing = createShortLived(fetchSigning)
  for (const file of profileFiles()) renewOnChange(signing, file)

  async function authorize(request: OutgoingRequest, signal: AbortSignal) {
    const { credentials, sign } = await signing.get(signal)
    return sign(request, { credentials, region, service: 'bedrock' })
  }

  return Object.assign(signing, { authorize })
}

/** A new chain each time: each keeps its credentials, and the files that it has read, until they expire. */
async function findCredentials({ profile, region }: CloudRow): Promise<AwsCredentials> {
  try {
    const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
    const find = defaultProvider({
      ignoreCache: true,
      ...(profile !== undefined && { profile }),
      ...(region !== undefined && { clientConfig: { region } }),
    })
    return await find()
  } catch (error) {
    throw new CredentialsError('finding credentials of AWS', codeOf(error))
  }
}

/** The files of profiles, which AWS's tools and secret managers rewrite. They need not exist. */
function profileFiles(): readonly string[] {
  const { AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE } = process.env
  const folder = path.join(homedir(), '.aws')
  return [
    AWS_SHARED_CREDENTIALS_FILE || path.join(folder, 'credentials'),
    AWS_CONFIG_FILE || path.join(folder, 'config'),
  ]
}

/** Only what the receiver needs is signed: proxies may change other headers. */
async function createSign(): Promise<SignRequest> {
  const { SignatureV4 } = await import('@smithy/signature-v4')
  return async ({ method, url, headers, body }, { credentials, region, service }) => {
    const signer = new SignatureV4({ credentials, region, service, sha256: Sha256 })
    const { headers: signed } = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { host: url.host, 'content-type': headers['content-type'] ?? 'application/json' },
      body,
    })
    const added = Object.entries(signed).filter(([name]) => name !== 'host' && name !== 'content-type')
    return Object.fromEntries(added)
  }
}

type Data = string | ArrayBuffer | ArrayBufferView

/** Of Node: several times as fast as that of the library. */
class Sha256 {
  readonly #hash: { update(data: Uint8Array): unknown; digest(): Buffer }

  constructor(secret?: Data) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', toBytes(secret))
  }

  update(data: Data): void {
    this.#hash.update(toBytes(data))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  /** Part of the interface. Nothing here uses an instance twice. */
  reset(): void {
    throw new Error('cannot be reset')
  }
}

function toBytes(data: Data): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data)
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data)
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? error.name : undefined
}

import { createHash, createHmac } from 'node:crypto'
import type { OutgoingRequest } from '../../core/contract/provider.ts'
import { CredentialsError } from '../shared/authorize.ts'
import type { Authorizer, CloudRow } from './authorizer.ts'
import { type AwsCredentials, assumeRole, type SignRequest } from './aws-role.ts'
import { createShortLived, type Expiring, LIBRARY_AHEAD_MS } from './short-lived.ts'

/** What signatures are made by. It exists once there are credentials. */
interface Signing {
  readonly credentials: AwsCredentials
  readonly sign: SignRequest
}

/**
 * Authorizes by AWS Signature Version 4, with the credentials of AWS's default chain: environment, profile,
 * web identity, container, instance (docs/guides/bedrock.md).
 */
export function createAwsAuthorizer(row: CloudRow): Authorizer {
  let chain: Promise<() => Promise<AwsCredentials>> | undefined

  async function findCredentials(isFresh: boolean): Promise<AwsCredentials> {
    try {
      // It remembers the credentials until shortly before they expire.
      if (isFresh) chain = undefined
      chain ??= createChain(row)
      return await (await chain)()
    } catch (error) {
      throw new CredentialsError('finding credentials of AWS', codeOf(error))
    }
  }

  async function fetchSigning(signal: AbortSignal, isFresh: boolean): Promise<Expiring<Signing>> {
    const sign = await createSign()
    const own = await findCredentials(isFresh)
    const { role_arn, region = 'us-east-1' } = row
    const credentials =
      role_arn === undefined ? own : await assumeRole({ role_arn, region, credentials: own, sign, signal })
    const expiresAt = credentials.expiration?.getTime()
    return {
      value: { credentials, sign },
      expiresAt,
      ...(role_arn === undefined && expiresAt !== undefined && { refreshAt: expiresAt - LIBRARY_AHEAD_MS }),
    }
  }

  const signing = createShortLived(fetchSigning)

  async function authorize(request: OutgoingRequest, signal: AbortSignal) {
    const { credentials, sign } = await signing.get(signal)
    return sign(request, { credentials, region: row.region ?? 'us-east-1', service: 'bedrock' })
  }

  return Object.assign(signing, { authorize })
}

async function createChain({ profile, region }: CloudRow): Promise<() => Promise<AwsCredentials>> {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
  return defaultProvider({
    ...(profile !== undefined && { profile }),
    ...(region !== undefined && { clientConfig: { region } }),
  })
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

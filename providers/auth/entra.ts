import { readFile } from 'node:fs/promises'
import type { TokenCredential } from '@azure/identity'
import { CredentialsError } from '../shared/authorize.ts'
import type { Authorizer, CloudRow } from './authorizer.ts'
import { createShortLived, type Expiring, LIBRARY_AHEAD_MS, renewOnChange } from './short-lived.ts'

/** The scope of Azure OpenAI. */
const DEFAULT_SCOPE = 'https://cognitiveservices.azure.com/.default'

type Headers = Readonly<Record<string, string>>

/** How tokens are asked for. */
interface TokenSource {
  readonly credential: TokenCredential
  /** The step that fails if no token can be had, for a `CredentialsError`. */
  readonly step: string
  /** A step before that which failed last. The library keeps no cause. */
  readonly failedBefore?: () => CredentialsError | undefined
}

/**
 * Authorizes by tokens of Microsoft Entra ID: for a client secret, for the federated token of a workload
 * identity, or else for the managed identity of the machine (docs/guides/azure.md).
 */
export function createEntraAuthorizer(row: CloudRow): Authorizer {
  const scope = row.token_scope ?? DEFAULT_SCOPE
  let source: Promise<TokenSource> | undefined

  async function fetchHeaders(abortSignal: AbortSignal, isFresh: boolean): Promise<Expiring<Headers>> {
    // Kept once it exists: it remembers its token, and what it found out about the authority.
    if (isFresh) source = undefined
    source ??= createSource(row)
    let known: TokenSource | undefined
    try {
      known = await source
      const { token, expiresOnTimestamp, refreshAfterTimestamp } =
        (await known.credential.getToken(scope, { abortSignal })) ?? {}
      if (token === undefined) throw new Error('no token')
      return {
        value: { authorization: `Bearer ${token}` },
        expiresAt: expiresOnTimestamp,
        refreshAt: refreshAfterTimestamp ?? (expiresOnTimestamp ?? 0) - LIBRARY_AHEAD_MS,
      }
    } catch (error) {
      if (known === undefined) source = undefined
      if (error instanceof CredentialsError) throw error
      const step = known?.step ?? 'setting up the identity'
      throw known?.failedBefore?.() ?? new CredentialsError(step, codeOf(error))
    }
  }

  const headers = createShortLived(fetchHeaders)
  if (row.client_secret_file !== undefined) renewOnChange(headers, row.client_secret_file)
  return Object.assign(headers, { authorize: (_: unknown, signal: AbortSignal) => headers.get(signal) })
}

async function createSource(row: CloudRow): Promise<TokenSource> {
  const identity = await import('@azure/identity')
  const {
    AZURE_AUTHORITY_HOST,
    AZURE_FEDERATED_TOKEN_FILE: tokenFile,
    AZURE_TENANT_ID,
    AZURE_CLIENT_ID,
  } = process.env
  const options = {
    // Failed fetches are repeated in the background.
    retryOptions: { maxRetries: 1, retryDelayInMs: 200 },
    // The operator vouches for the host. Without this, that of a private cloud would be asked for elsewhere.
    disableInstanceDiscovery: AZURE_AUTHORITY_HOST !== undefined,
  }
  const { tenant_id = AZURE_TENANT_ID, client_id = AZURE_CLIENT_ID, client_secret_file } = row
  const client_secret =
    client_secret_file === undefined ? row.client_secret : await readClientSecret(client_secret_file)
  if (client_secret !== undefined && tenant_id !== undefined && client_id !== undefined) {
    const credential = new identity.ClientSecretCredential(tenant_id, client_id, client_secret, options)
    return { credential, step: 'the token request to Entra' }
  }
  if (tokenFile === undefined) {
    const clientId = client_id === undefined ? {} : { clientId: client_id }
    const credential = new identity.ManagedIdentityCredential({ ...clientId, ...options })
    return { credential, step: 'the request to the managed identity endpoint' }
  }
  if (tenant_id === undefined || client_id === undefined)
    throw new CredentialsError('finding tenant_id and client_id of the workload identity')
  let failure: CredentialsError | undefined
  // Kubernetes replaces the file long before its token expires, so it is read for every request.
  const readToken = async () => {
    failure = undefined
    return readText(tokenFile).catch((error: unknown) => {
      failure = new CredentialsError('reading the federated token file', codeOf(error))
      throw failure
    })
  }
  const credential = new identity.ClientAssertionCredential(tenant_id, client_id, readToken, options)
  return { credential, step: 'the token request to Entra', failedBefore: () => failure }
}

function readClientSecret(file: string): Promise<string> {
  return readText(file).catch((error: unknown) => {
    throw new CredentialsError('reading the file of the client secret', codeOf(error))
  })
}

async function readText(file: string): Promise<string> {
  const text = (await readFile(file, 'utf8')).trim()
  if (text === '') throw new Error('the file is empty')
  return text
}

/** Entra's code, such as AADSTS7000222 for a client secret that has expired, or that of the network. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const [aadsts] = /\bAADSTS\d{1,10}\b/.exec(error.message) ?? []
  const { code, errorCode } = error as { code?: unknown; errorCode?: unknown }
  return aadsts ?? errorCode ?? code ?? error.name
}

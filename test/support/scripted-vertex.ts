import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { makeFolder } from './folders.ts'

/** What Google answers: JSON, or records of a stream, which may begin with a field such as `event:`. */
export interface VertexScript {
  readonly status?: number
  readonly body?: object
  readonly records?: readonly (object | string)[]
}

export interface VertexRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly betas: string | undefined
  readonly version: string | undefined
  /** The project that pays. */
  readonly quotaProject: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a body of any format
  readonly body: any
}

/** How the token endpoint answers an assertion. */
export interface TokenScript {
  readonly status: number
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface ScriptedVertex {
  readonly url: string
  readonly tokenUri: string
  /** The public key of the service account. */
  readonly publicKey: string
  readonly keyFile: string
  /** Requests to models so far. */
  readonly requests: readonly VertexRequest[]
  /** Assertions that the token endpoint received. */
  readonly assertions: readonly string[]
  /** Paths that the metadata server was asked for; its host is that of `url`. */
  readonly metadata: readonly string[]
  /** Forms that the token endpoint received. */
  readonly exchanges: readonly URLSearchParams[]
  /** All tokens that it issued are valid, unless revoked. */
  play(script: VertexScript): void
  /** Replaces how tokens are issued; undefined: `token-1`, `token-2` and so on, for an hour. */
  issue(script: ((assertion: string) => TokenScript) | undefined): void
  /** Refuses the tokens that it has issued so far. */
  revoke(): void
  /** Writes another key for the account, whose assertions the server accepts as well. */
  replaceKey(email: string): Promise<void>
  close(): void
}

/** Vertex AI and a token endpoint on one port. Requests without a token that it issued get 401. */
export async function startScriptedVertex(): Promise<ScriptedVertex> {
  let script: VertexScript = {}
  let issue: ((assertion: string) => TokenScript) | undefined
  const requests: VertexRequest[] = []
  const assertions: string[] = []
  const exchanges: URLSearchParams[] = []
  const metadata: string[] = []
  const tokens = new Set<string>()
  const server = createServer(async (request, response) => {
    const sent = await text(request)
    if (request.url === '/token') {
      const form = new URLSearchParams(sent)
      exchanges.push(form)
      const assertion = form.get('assertion') ?? ''
      assertions.push(assertion)
      const token = `ya29.token-${assertions.length}`
      const answer = issue?.(assertion) ?? { status: 200, body: { access_token: token, expires_in: 3600 } }
      if ('access_token' in answer.body) tokens.add(`Bearer ${answer.body.access_token}`)
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      response.end(JSON.stringify(answer.body))
      return
    }
    if (request.url?.startsWith('/computeMetadata/')) {
      metadata.push(request.url)
      const isToken = request.url.includes('/token')
      const token = `ya29.metadata-${metadata.length}`
      if (isToken) tokens.add(`Bearer ${token}`)
      const headers = { 'content-type': 'application/json', 'metadata-flavor': 'Google' }
      const isAllowed = request.headers['metadata-flavor'] === 'Google'
      response.writeHead(isAllowed ? 200 : 403, headers)
      response.end(isToken ? JSON.stringify({ access_token: token, expires_in: 3600 }) : 'googleapis.com')
      return
    }
    const { authorization, 'anthropic-beta': betas, 'anthropic-version': version } = request.headers
    const body = sent === '' ? undefined : JSON.parse(sent)
    requests.push({
      method: request.method ?? '',
      path: request.url ?? '',
      authorization,
      betas: betas === undefined ? undefined : String(betas),
      quotaProject: request.headers['x-goog-user-project']?.toString(),
      version: version === undefined ? undefined : String(version),
      body,
    })
    const isKnown = tokens.has(authorization ?? '')
    const { status = 200, records, body: answer } = isKnown ? script : UNAUTHENTICATED
    if (records === undefined) {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const record of records)
      response.write(typeof record === 'string' ? record : `data: ${JSON.stringify(record)}\r\n\r\n`)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const keyFile = path.join(await makeFolder(), 'key.json')
  const writeKey = (client_email: string) =>
    writeFile(
      keyFile,
      JSON.stringify({
        ...{ type: 'service_account', project_id: 'rail', private_key_id: 'key-1' },
        ...{ private_key: privateKey, client_email, token_uri: `${url}/token` },
      }),
    )
  await writeKey('gateway@rail.iam.gserviceaccount.com')
  return {
    ...{ url, publicKey, keyFile, requests, assertions, exchanges, metadata },
    tokenUri: `${url}/token`,
    play(next) {
      script = next
    },
    issue(next) {
      issue = next
    },
    revoke: () => tokens.clear(),
    replaceKey: writeKey,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const UNAUTHENTICATED: VertexScript = {
  status: 401,
  body: { error: { code: 401, status: 'UNAUTHENTICATED', message: 'Invalid credentials.' } },
}

/** The settings of a provider `vertex` at this server. */
export function vertexRow({ url, keyFile }: ScriptedVertex): object {
  return {
    ...{ format: 'vertex', auth: 'google', project: 'rail', location: 'europe-west4' },
    ...{ base_url: url, credentials_file: keyFile },
    capabilities: { json: 'schema', seed: true },
  }
}

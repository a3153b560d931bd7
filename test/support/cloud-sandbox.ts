import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chunkFrame } from './scripted-bedrock.ts'
import { type ScriptedEntra, startScriptedEntra } from './scripted-entra.ts'
import { type ScriptedVertex, startScriptedVertex, vertexRow } from './scripted-vertex.ts'

/** A model of each cloud. */
export const CLOUD_MODELS = {
  bedrock: 'eu.anthropic.claude-sonnet-4-6',
  'vertex, Claude': 'claude-sonnet-4-6@20260217',
  'vertex, Gemini': 'gemini-3.5-flash-001',
  azure: 'gpt-5.4-mini-2026-03-17',
} as const

/** Bedrock, Vertex AI and Azure OpenAI in front of one sandbox. They answer authenticated requests only. */
export interface CloudSandbox {
  /** Settings of a gateway that calls them. */
  readonly settings: string
  /** Its environment, which the libraries of the clouds read from the process. */
  readonly environment: Readonly<Record<string, string>>
  /** How many requests each cloud has answered. */
  readonly counts: Readonly<Record<'bedrock' | 'vertex' | 'azure', number>>
  close(): Promise<void>
}

const REGION = 'eu-central-1'
const ACCESS_KEY = 'AKIACANARY0000000001'
const SIGNATURE = new RegExp(
  `^AWS4-HMAC-SHA256 Credential=${ACCESS_KEY}/\\d{8}/${REGION}/bedrock/aws4_request, `,
)

/** The environment of AWS and Azure that the process has until it is closed. */
function setProcessEnvironment(values: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, values)
  return () => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
}

export async function startCloudSandbox(): Promise<CloudSandbox> {
  const sandbox = await startSandbox({})
  const entra = await startScriptedEntra()
  const vertex = await startScriptedVertex()
  const counts = { bedrock: 0, vertex: 0, azure: 0 }
  const server = createServer(async (request, response) => {
    const cloud = cloudOf(request.url ?? '')
    const sent = await text(request)
    if (!isAuthenticated(request, cloud, entra)) {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"message":"not signed"}')
      return
    }
    counts[cloud] += 1
    await CLOUDS[cloud](request, response, sent, sandbox).catch(() => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const restore = setProcessEnvironment({
    AZURE_AUTHORITY_HOST: entra.authority,
    AWS_ACCESS_KEY_ID: ACCESS_KEY,
    AWS_SECRET_ACCESS_KEY: 'canary/secret+key/of/aws',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: url,
  })
  return {
    settings: `providers: ${JSON.stringify(providersOf(url, vertex))}\nmodels: ${JSON.stringify(MODEL_ROWS)}\n`,
    environment: { AZURE_SECRET: 'a-client-secret-of-a-test' },
    counts,
    async close() {
      restore()
      server.close()
      server.closeAllConnections()
      entra.close()
      vertex.close()
      await sandbox.close()
    },
  }
}

function providersOf(url: string, vertex: ScriptedVertex): object {
  return {
    bedrock: { format: 'bedrock', auth: 'aws', region: REGION, capabilities: { json: 'schema' } },
    vertex: { ...vertexRow(vertex), base_url: url },
    azure: {
      ...{ format: 'openai', base_url: `${url}/openai/v1`, auth: 'entra', tenant_id: 'a-tenant' },
      ...{ client_id: 'a-client', client_secret_variable: 'AZURE_SECRET' },
      capabilities: { json: 'schema', logit_bias: true, seed: true, developer_role: true },
    },
  }
}

const MODEL_ROWS = Object.entries(CLOUD_MODELS).map(([name, id]) => ({
  ...{ id, provider: name.split(',')[0], context: 1_000_000, max_output: 64_000 },
  ...{ price: { input: 1, output: 5 }, quality: 80, latency_ms: 2000 },
  capabilities: { tools: true, images: true, json: 'schema' },
}))

type Cloud = 'bedrock' | 'vertex' | 'azure'

function cloudOf(path: string): Cloud {
  if (path.startsWith('/model/')) return 'bedrock'
  return path.startsWith('/openai/') ? 'azure' : 'vertex'
}

function isAuthenticated({ headers }: IncomingMessage, cloud: Cloud, { issued }: ScriptedEntra): boolean {
  const { authorization = '' } = headers
  if (cloud === 'bedrock') return SIGNATURE.test(authorization)
  if (cloud === 'vertex') return authorization.startsWith('Bearer ya29.token-')
  return issued.includes(authorization.replace('Bearer ', ''))
}

type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  sent: string,
  sandbox: Pick<Sandbox, 'url'>,
) => Promise<void>

const CLOUDS: Readonly<Record<Cloud, Answer>> = {
  async bedrock({ url = '' }, response, sent, sandbox) {
    const [, id = '', method = ''] = /^\/model\/([^/]+)\/(.+)$/.exec(url) ?? []
    const isStream = method === 'invoke-with-response-stream'
    const answer = await askClaude(sandbox, decodeURIComponent(id), sent, isStream)
    if (!answer.ok) return sendBedrockError(answer, response)
    if (!isStream) return pass(answer, response)
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
    for await (const { data } of readRecords(answer)) response.write(chunkFrame(JSON.parse(data)))
    response.end()
  },
  async vertex({ url = '' }, response, sent, sandbox) {
    const [, publisher, model = '', method = '', query = ''] =
      /\/publishers\/(\w+)\/models\/([^:]+):(\w+)(.*)$/.exec(url) ?? []
    const id = decodeURIComponent(model)
    if (publisher === 'google') {
      // Only Vertex AI takes labels.
      const { labels: _, ...body } = JSON.parse(sent)
      const at = `${sandbox.url}/gemini/v1beta/models/${id}:${method}${query}`
      return pass(await post(at, JSON.stringify(body), { 'x-goog-api-key': 'provider-key' }), response)
    }
    if (id === 'count-tokens')
      return pass(await post(`${sandbox.url}/anthropic/v1/messages/count_tokens`, sent, CLAUDE), response)
    return pass(await askClaude(sandbox, id, sent, method === 'streamRawPredict'), response)
  },
  async azure({ url = '' }, response, sent, sandbox) {
    return pass(await post(sandbox.url + url, sent, { authorization: 'Bearer provider-key' }), response)
  },
}

const CLAUDE = { 'x-api-key': 'provider-key', 'anthropic-version': '2023-06-01' }

/** The clouds have the model in the path, and the version and the betas in the body. */
function askClaude(sandbox: Pick<Sandbox, 'url'>, model: string, sent: string, stream: boolean) {
  const { anthropic_version: _, anthropic_beta: betas = [], ...body } = JSON.parse(sent)
  const headers = { ...CLAUDE, ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }) }
  const text = JSON.stringify({ ...body, model, stream })
  return post(`${sandbox.url}/anthropic/v1/messages`, text, headers)
}

function post(url: string, body: string, headers: Record<string, string>): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
}

function readRecords({ body }: Response) {
  if (body === null) throw new Error('a stream without a body')
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}

async function sendBedrockError(answer: Response, response: ServerResponse): Promise<void> {
  const { error } = JSON.parse(await answer.text())
  response.writeHead(answer.status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ message: error?.message }))
}

async function pass(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, {
    'content-type': answer.headers.get('content-type') ?? 'application/json',
    ...(answer.headers.has('retry-after') && { 'retry-after': answer.headers.get('retry-after') ?? '' }),
  })
  for await (const bytes of answer.body ?? []) response.write(bytes)
  response.end()
}

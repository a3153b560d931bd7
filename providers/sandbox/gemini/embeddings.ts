import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { buildVectors, toOperationCall } from '../shared/operations.ts'
import { type ChatCall, SandboxError } from '../shared/wire-format.ts'

const MAX_REQUESTS = 100

/** Gemini's `batchEmbedContents`. Throws a `SandboxError` (400) if Gemini would reject the body. */
export function parseGeminiEmbeddings(model: string, body: unknown): ChatCall {
  const requests: unknown = isJsonObject(body) ? body.requests : undefined
  if (!Array.isArray(requests)) throw new SandboxError(400, 'Invalid JSON payload received.')
  if (requests.length > MAX_REQUESTS)
    throw new SandboxError(400, `At most ${MAX_REQUESTS} requests can be in one batch.`)
  const parsed = requests.map((request) => parseRequest(model, request))
  const texts = parsed.map(({ text }) => text)
  const embeddings = buildVectors(model, texts, parsed[0]?.dimensions).map((values) => ({ values }))
  return toOperationCall({ model, texts, tokens: 0 }, { embeddings })
}

function parseRequest(model: string, request: unknown) {
  if (!isJsonObject(request) || request.model !== `models/${model}`)
    throw new SandboxError(400, 'The model of each request must be that of the path.')
  const parts: unknown = isJsonObject(request.content) ? request.content.parts : undefined
  const texts = Array.isArray(parts) ? parts.map((part: JsonObject) => part?.text) : []
  if (texts.length === 0 || !texts.every((text) => typeof text === 'string'))
    throw new SandboxError(400, 'content is required.')
  return { text: texts.join(''), dimensions: request.outputDimensionality }
}

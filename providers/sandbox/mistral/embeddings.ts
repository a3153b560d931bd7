import { buildVectors, checkBatch, parseOperationRequest, toOperationCall } from '../shared/operations.ts'
import { type ChatCall, SandboxError } from '../shared/wire-format.ts'

const KNOWN_FIELDS = new Set(['model', 'input', 'output_dimension', 'output_dtype', 'encoding_format'])

const LIMIT = {
  inputs: 512,
  tokens: 16_384,
  inputsError: () =>
    new SandboxError(400, 'Too many inputs in request, split into more batches.', { code: '3210' }),
  tokensError: () =>
    new SandboxError(400, 'Too many tokens overall, split into more batches.', { code: '3210' }),
}

/** Mistral's embeddings. Throws a `SandboxError` (400 or 422) if Mistral would reject the body. */
export function parseMistralEmbeddings(body: unknown): ChatCall {
  const request = parseOperationRequest(body)
  const { model, texts, tokens } = request
  checkBatch(request, LIMIT)
  const unknown = Object.keys(request.body).find((name) => !KNOWN_FIELDS.has(name))
  if (unknown !== undefined)
    throw new SandboxError(422, 'Extra inputs are not permitted', { param: unknown, code: 'extra_forbidden' })
  const { output_dimension: dimensions } = request.body
  if (dimensions !== undefined && model === 'mistral-embed')
    throw new SandboxError(400, 'This model does not support output_dimension.')
  const data = buildVectors(model, texts, dimensions).map((embedding, index) => {
    return { object: 'embedding', index, embedding }
  })
  const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens }
  return toOperationCall(request, { id: 'embd-1', object: 'list', data, model, usage })
}

import { encodeVector } from '../../shared/vectors.ts'
import { buildVectors, checkBatch, parseOperationRequest, toOperationCall } from '../shared/operations.ts'
import { type ChatCall, SandboxError } from '../shared/wire-format.ts'

/** The only model that rejects `dimensions`. */
const FIXED_LENGTH = 'text-embedding-ada-002'

const LIMIT = {
  inputs: 2048,
  tokens: 300_000,
  inputsError() {
    const message = "Invalid 'input': array too long. Expected an array with maximum length 2048."
    return new SandboxError(400, message, { param: 'input', code: 'array_above_max_length' })
  },
  tokensError() {
    const message = "Invalid 'input': maximum request size is 300000 tokens per request."
    return new SandboxError(400, message, { param: 'input', code: 'max_tokens_per_request' })
  },
}

/** OpenAI's embeddings. Throws a `SandboxError` (400) if OpenAI would reject the body. */
export function parseOpenAiEmbeddings(body: unknown): ChatCall {
  const request = parseOperationRequest(body)
  const { model, texts, tokens } = request
  checkBatch(request, LIMIT)
  const { dimensions, encoding_format: format } = request.body
  if (dimensions !== undefined && model === FIXED_LENGTH)
    throw new SandboxError(400, 'This model does not support specifying dimensions.', { param: 'dimensions' })
  const data = buildVectors(model, texts, dimensions).map((vector, index) => {
    return { object: 'embedding', index, embedding: format === 'base64' ? encodeVector(vector) : vector }
  })
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return toOperationCall(request, { object: 'list', data, model, usage })
}

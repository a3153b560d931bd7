import type { Format } from '../format.ts'
import { writeError, writeErrorEvent } from '../openai/error.ts'
import { openai } from '../openai/format.ts'
import { readCall } from './call.ts'

const MODELS = ['deepseek-flash', 'deepseek-v4-pro']

/** DeepSeek's chat completions (https://api-docs.deepseek.com/api/create-chat-completion). */
export const deepseek: Format = {
  name: 'deepseek',
  findEndpoint: (method, path) => openai.findEndpoint(method, `/v1${path}`),
  readKey: openai.readKey,
  readCall: (_path, body) => readCall(body),
  writeModels() {
    return JSON.stringify({
      object: 'list',
      data: MODELS.map((id) => ({ id, object: 'model', owned_by: 'deepseek' })),
    })
  },
  writeError,
  writeErrorEvent,
}

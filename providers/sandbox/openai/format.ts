import type { Format } from '../format.ts'
import { readCall } from './call.ts'
import { writeError, writeErrorEvent } from './error.ts'

const MODELS = ['gpt-6-sol', 'gpt-5.6-terra', 'gpt-5-mini', 'gpt-4.1', 'gpt-4o-mini']

/** OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat). */
export const openai: Format = {
  name: 'openai',
  findEndpoint(method, path) {
    if (method === 'POST' && path === '/v1/chat/completions') return 'chat'
    if (method === 'GET' && path === '/v1/models') return 'models'
    return undefined
  },
  readKey: ({ authorization = '' }) => /^Bearer\s+(\S.*)$/i.exec(authorization)?.[1]?.trim() ?? '',
  readCall: (_path, body) => readCall(body),
  writeModels() {
    const data = MODELS.map((id) => ({ id, object: 'model', created: 1_767_225_600, owned_by: 'sandbox' }))
    return JSON.stringify({ object: 'list', data })
  },
  writeError,
  writeErrorEvent,
}

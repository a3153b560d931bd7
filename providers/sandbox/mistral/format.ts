import type { Format } from '../format.ts'
import { openai } from '../openai/format.ts'
import { readCall } from './call.ts'
import { writeError, writeErrorEvent } from './error.ts'

const MODELS = ['mistral-medium-3.5', 'mistral-small-2603', 'mistral-large-2512', 'codestral-2508']

/** Mistral's chat completions (https://docs.mistral.ai/api/endpoint/chat), which it checks strictly. */
export const mistral: Format = {
  name: 'mistral',
  findEndpoint: openai.findEndpoint,
  readKey: openai.readKey,
  readCall: (_path, body) => readCall(body),
  writeModels: () => JSON.stringify({ object: 'list', data: MODELS.map(writeModel) }),
  writeError,
  writeErrorEvent,
}

function writeModel(id: string) {
  const capabilities = { completion_chat: true, function_calling: true }
  return { id, object: 'model', type: 'base', created: 1_767_225_600, owned_by: 'mistralai', capabilities }
}

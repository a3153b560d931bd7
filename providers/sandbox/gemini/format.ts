import type { Format } from '../format.ts'
import { readCall } from './call.ts'
import { writeError, writeErrorEvent } from './error.ts'

const MODELS = ['gemini-4-argon', 'gemini-3.8-flash', 'gemini-3.1-flash-lite', 'gemini-2.5-flash']

/** Google's Generative Language API (https://ai.google.dev/api/generate-content). */
export const gemini: Format = {
  name: 'gemini',
  newline: '\r\n',
  findEndpoint(method, path) {
    if (method === 'POST' && /^\/v1(beta)?\/models\/[^/]+:(g|streamG)enerateContent$/.test(path))
      return 'chat'
    if (method === 'GET' && /^\/v1(beta)?\/models$/.test(path)) return 'models'
    return undefined
  },
  readKey: ({ 'x-goog-api-key': key = '' }) => String(key).trim(),
  readCall: (path, body) => readCall(path, body),
  writeModels: () => JSON.stringify({ models: MODELS.map(writeModel) }),
  writeError,
  writeErrorEvent,
}

function writeModel(id: string) {
  return {
    name: `models/${id}`,
    displayName: id,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent'],
  }
}

import type { IncomingHttpHeaders } from 'node:http'
import type { Format } from '../format.ts'
import { readCall } from './call.ts'
import { writeError, writeErrorEvent } from './error.ts'

const MODELS = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5', 'claude-sonnet-4-6']

/** Anthropic's Messages API (https://platform.claude.com/docs/en/api/messages). */
export const anthropic: Format = {
  name: 'anthropic',
  findEndpoint(method, path) {
    if (method === 'POST' && path === '/v1/messages') return 'chat'
    if (method === 'GET' && path === '/v1/models') return 'models'
    return undefined
  },
  readKey: (headers) => readHeader(headers, 'x-api-key') || readBearer(headers),
  readCall: (_path, body, headers) => readCall(body, readHeader(headers, 'anthropic-version')),
  writeModels() {
    const data = MODELS.map((id) => ({
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-01T00:00:00Z',
    }))
    return JSON.stringify({ data, first_id: MODELS[0], last_id: MODELS.at(-1), has_more: false })
  },
  writeError,
  writeErrorEvent,
}

function readHeader(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? '').trim()
}

function readBearer({ authorization = '' }: IncomingHttpHeaders): string {
  return /^Bearer\s+(\S.*)$/i.exec(authorization)?.[1]?.trim() ?? ''
}

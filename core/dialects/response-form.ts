import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../contract/index.ts'

/**
 * `openai` is as OpenAI's clients require: text parts are `output_text`, `metadata` is a map of strings.
 * `interface` is the gateway's own: text parts are `text`, `metadata` holds numbers and arrays.
 */
export type ResponseForm = 'interface' | 'openai'

/** `detect` chooses the form by the client's headers (docs/api.md, "Forms of answers"). */
export const FORM_SETTINGS = ['detect', 'interface', 'openai'] as const

export type FormSetting = (typeof FORM_SETTINGS)[number]

/**
 * Chooses the form of an answer by the headers of its request. `plainToolForm` is the form for plain HTTP
 * tools; default `interface`. Throws 400 if the header `x-response-form` is invalid.
 */
export type ChooseForm = (headers: IncomingHttpHeaders, plainToolForm?: ResponseForm) => ResponseForm

export function createFormChooser(setting: FormSetting): ChooseForm {
  return (headers, plainToolForm = 'interface') => {
    const requested = headers['x-response-form']
    if (requested !== undefined) return parseForm(requested)
    if (setting !== 'detect') return setting
    return isPlainTool(headers) ? plainToolForm : 'openai'
  }
}

function parseForm(text: unknown): ResponseForm {
  if (text === 'interface' || text === 'openai') return text
  const message = 'The header x-response-form must be "interface" or "openai". Correct or omit it.'
  throw new GatewayError('invalid_value', message, { param: 'x-response-form' })
}

/** True for tools that show JSON to people, and for HTTP libraries that programs call directly. */
function isPlainTool(headers: IncomingHttpHeaders): boolean {
  const userAgent = headers['user-agent'] ?? ''
  if (!PLAIN_TOOL.test(userAgent) || OPENAI_CLIENT.test(userAgent)) return false
  if (headers['openai-beta'] !== undefined) return false
  for (const name in headers) if (name.startsWith('x-stainless-')) return false
  return true
}

const PLAIN_TOOL_NAMES = [
  ...['curl', 'wget', 'httpie', 'postmanruntime', 'insomnia', 'bruno', 'bruno-runtime', 'mozilla'],
  ...['node', 'undici', 'deno', 'bun'],
  ...['python-requests', 'python-httpx', 'python-urllib', 'aiohttp', 'python/\\S+ aiohttp'],
]

const PLAIN_TOOL = new RegExp(`^(?:${PLAIN_TOOL_NAMES.join('|')})(?:$|[/ ])`, 'i')

/** Clients that append their name to the one of an HTTP library. */
const OPENAI_CLIENT = /openai|ai-sdk|litellm|codex/i

// Runs cases and prints one line of JSON for each.

import { fileURLToPath } from 'node:url'

export const { BASE_URL, API_KEY, CLIENT_SUFFIX = '' } = process.env
export const MODELS = process.env.MODELS.split(',')

/** A red pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=='
export const IMAGE_URL = `data:image/png;base64,${PNG}`

export const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

/**
 * Longer than the 64 characters that most APIs allow for the name of a tool. Providers get a shorter name, so
 * prompts for the sandbox cannot mention it.
 */
export const LONG_NAME = `mcp__warehouse__${'find_items_'.repeat(6)}x`

/** Calls a tool in three replies. */
export const LOOP = '[[sandbox:rounds=3]]'

/** A tool that counts its calls. */
export function createCounter() {
  let count = 0
  return { run: () => `call ${++count}`, count: () => count }
}

/** The file of an MCP server with tools. */
export const MCP_SERVER = fileURLToPath(new URL('mcp-server.mjs', import.meta.url))

/** Thrown by a case that a provider or client cannot run. */
export class Skipped extends Error {}

/** DeepSeek's API reads no images: such requests are refused before they are sent. */
export function needImages(model) {
  if (model.startsWith('deepseek')) throw new Skipped('DeepSeek reads no images')
}

/** Runs every case with every model. A case fails by throwing. */
export async function runCases(client, cases, models = MODELS) {
  for (const model of models) {
    for (const [feature, run] of Object.entries(cases)) {
      const line = { client: `js/${client}${CLIENT_SUFFIX}`, feature, model, ok: true }
      try {
        await run(model)
      } catch (error) {
        line.ok = false
        if (error instanceof Skipped) line.skipped = error.message
        else line.detail = `${error?.stack ?? error}`.slice(0, 800)
      }
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  }
}

/** Expects a rejection with an error of the class and returns the error. */
export async function rejects(promise, type = Error) {
  const error = await Promise.resolve(promise).then(
    (value) => new Skipped(`resolved with ${JSON.stringify(value)}`),
    (reason) => reason,
  )
  if (error instanceof Skipped) throw new Error(error.message.slice(0, 300))
  if (!(error instanceof type)) throw new Error(`${error?.name}, not ${type.name}: ${error?.message}`)
  return error
}

import { type RunningGateway, startGateway } from './gateway.ts'
import { BUILT_IN, installExamples, listPlugins } from './plugins.ts'

interface ListedExamples {
  /** Listed directly before `dispatch`. */
  readonly inner?: readonly unknown[]
  /** Listed after the built-in plugins. */
  readonly last?: readonly unknown[]
}

let installed: Promise<string> | undefined

/** Starts a gateway with example packages, which npm has installed. */
export async function startWithExamples(
  { inner = [], last = [] }: ListedExamples,
  environment: Record<string, string> = {},
): Promise<RunningGateway> {
  installed ??= installExamples(['signalbox-budget', 'signalbox-exact-cache', 'signalbox-redactor'])
  const pluginFolder = await installed
  const list = BUILT_IN.flatMap((name) => (name === 'dispatch' ? [...inner, name] : [name]))
  const CONFIG = await listPlugins(pluginFolder, [...list, ...last])
  return startGateway({ CONFIG, ...environment }, { pluginFolder })
}

/** Nothing listens there. */
export const NO_REDIS = { REDIS_URL: 'redis://127.0.0.1:1' }

export function postAs(key: string, url: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** A tool whose argument `card` has this value when the sandbox calls it. */
export function payTool(card: string) {
  const parameters = {
    type: 'object',
    required: ['card', 'amount'],
    properties: { card: { type: 'string', enum: [card] }, amount: { type: 'integer' } },
  }
  return { type: 'function', function: { name: 'pay', parameters } }
}

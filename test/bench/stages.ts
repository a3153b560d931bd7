/** Stages of a request by source path. The first match applies. */
const STAGES: readonly (readonly [stage: string, place: RegExp])[] = [
  ['auth', /\/plugins\/auth\//],
  ['plan, limits', /\/plugins\/(plan|rate-limit)\/|\/core\/shared-state\//],
  [
    'body',
    /read-body|koa-body|co-body|raw-body|inflation|\/ajv|core\/schema\.|dialects\/.*read-|request-schema/,
  ],
  ['firewall', /\/plugins\/firewall\/|core\/text\/|\/re2\//],
  ['routing', /\/plugins\/routing\//],
  ['undici', /node_modules\/undici\//],
  ['provider format, dispatch', /\/plugins\/dispatch\/|\/providers\/|core\/stream\/|eventsource-parser/],
  ['decorate, ledger', /\/plugins\/(decorate|ledger)\//],
  ['responses', /\/plugins\/responses\//],
  ['answer', /dialects\/|send-stream|core\/http\/inference/],
  ['log', /\/pino|sonic-boom|log-requests|thread-stream|config\/log/],
  ['metrics', /\/plugins\/metrics\/|core\/metrics\/|prom-client|observe-requests/],
  ['event log, projections', /core\/(log|events)\/|\/projections\/|better-sqlite3/],
  [
    'koa, router, pipeline',
    /node_modules\/(@?koa|@koa|http-|path-to-regexp|statuses|on-finished)|core\/(http|pipeline|soon)/,
  ],
]

const V8: Readonly<Record<string, string>> = {
  '(garbage collector)': 'gc',
  '(idle)': 'idle',
  '(program)': 'outside JavaScript',
}

/** Node's own JavaScript, except for what undici calls. */
const NODE = 'node: http, net, streams'

/**
 * Returns the stage of a function by its file. Functions without a file, such as built-in ones, belong to the
 * stage of their caller.
 */
export function stageOf(url: string, functionName: string, caller: string): string {
  if (url.startsWith('node:')) return caller === 'undici' ? caller : NODE
  if (url === '') return V8[functionName] ?? caller
  return STAGES.find(([, place]) => place.test(url))?.[0] ?? 'elsewhere'
}

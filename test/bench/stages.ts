/** Stages of a request by source path. The first match applies. */
const STAGES: readonly (readonly [stage: string, place: RegExp])[] = [
  ['auth', /\/plugins\/auth\//],
  ['plan, limits', /\/plugins\/(plan|rate-limit|budget)\/|\/core\/shared-state\//],
  [
    'body',
    /read-body|koa-body|co-body|raw-body|\/ajv|bourne|\/validators\/|(parse|check)-request|request-schema/,
  ],
  ['firewall', /\/plugins\/firewall\/|\/core\/(text|pcre)\/|\/re2\//],
  ['routing', /\/plugins\/routing\//],
  ['undici', /node_modules\/undici\//],
  ['provider format, dispatch', /\/plugins\/dispatch\/|\/providers\/|eventsource-parser/],
  ['decorate, ledger', /\/plugins\/(decorate|ledger)\//],
  ['responses', /\/plugins\/responses\//],
  ['answer', /\/core\/dialects\/|send-response/],
  ['log', /\/pino|sonic-boom|request-observers|thread-stream|process\/logger/],
  ['metrics', /\/plugins\/metrics\/|util\/metrics|prom-client/],
  ['event log, projections', /\/core\/(event-log|events)\/|\/projections\/|better-sqlite3/],
  [
    'koa, router, pipeline',
    /node_modules\/(@?koa|@koa|path-to-regexp|on-finished|ee-first)|core\/(http|pipeline)|maybe-promise/,
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

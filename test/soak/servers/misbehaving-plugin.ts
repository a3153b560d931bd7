import { writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Does what the header `x-way` names. Requests without it pass unchanged. */
const SOURCE = `import { ReplyEvent } from 'signalbox'
const never = () => new Promise(() => undefined)
const DECIDE = {
  'decide throws': () => { throw new Error('injected') },
  'decide throws what is no error': () => { throw null },
  'decide hangs': never,
  'bad header': ({ res }) => res.setDefaultHeader('x-bad', 'two\\nlines'),
  'bad trace': ({ trace }) => { trace.push({ action: 5n }) },
  'many traces': ({ trace }) => { trace.push(...Array(2000).fill({})) },
  'no request': (exchange) => { exchange.request = undefined },
}
const REPLY = {
  'bad call header': (exchange, next) => {
    exchange.headersOfCall = () => ({ 'x-bad': 'two\\nlines' })
    return next()
  },
  'next twice': async (_, next) => { await next(); return next() },
  'next is dropped': (_, next) => {
    next()
    return { type: 'whole', event: new ReplyEvent([{ type: 'text', text: 5 }]) }
  },
  'reply throws behind next': async (_, next) => { await next(); throw new Error('injected') },
}
const INSPECT = {
  'transform throws': () => ({ transform() { throw new Error('injected') } }),
  'transform hangs': () => ({ transform: never }),
}
const ANSWERS = { 'status 999': () => ({ status: 999, body: {} }), 'no end': never }
export default {
  name: 'misbehaving', contract: 3, after: ['auth'], before: ['dispatch'],
  setup: () => ({
    decide: (exchange) => DECIDE[exchange.headers['x-way']]?.(exchange),
    reply: (exchange, next) => (REPLY[exchange.headers['x-way']] ?? ((_, next) => next()))(exchange, next),
    inspect: (exchange) => INSPECT[exchange.headers['x-way']]?.(exchange),
    endpoints: [{
      method: 'GET', path: '/v1/misbehaving', access: { type: 'user' }, operationId: 'misbehave',
      summary: 'Misbehaves.', tags: [], responses: { 200: { description: 'Never.' } },
      handle: ({ headers }) => ANSWERS[headers['x-way']](),
    }],
  }),
}`

const namesOf = (pattern: RegExp) => [...SOURCE.matchAll(pattern)].map(([, name = '']) => name)

/** The ways of inference requests, and those of the plugin's endpoint. */
export const CHAT_WAYS = namesOf(/^ {2}'(.+?)': /gm)
export const ENDPOINT_WAYS = ['status 999', 'no end']

/** Writes the plugin into the folder, and returns its file. */
export async function writeMisbehavingPlugin(folder: string): Promise<string> {
  const file = path.join(folder, 'misbehaving.mjs')
  await writeFile(file, SOURCE)
  return file
}

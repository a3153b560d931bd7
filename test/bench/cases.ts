import { ask, type Case, type Cell, CHAT } from './case.ts'
import { BURST_MARKER, PACE_MARKER, PACE_MS, writePrompt } from './prompts.ts'
import { PROVIDERS } from './providers.ts'
import { STREAM_RECORDS } from './recorded-answers.ts'
import type { ServerName } from './servers.ts'

const isWhole = (text: string) => text.includes('This is the sandbox')
/** Allows for upstream records that have no equivalent in OpenAI's format. */
const isStream = (text: string) => text.split('data:').length > STREAM_RECORDS - 5 && text.includes('sandbox')

const [openai, ...others] = PROVIDERS

const small = ask(writePrompt(400))
const large = ask(writePrompt(100_000))
const streamed = ask(writePrompt(400), { stream: true })
const paced = ask(writePrompt(400, PACE_MARKER), { stream: true })

/** For servers that are idle in all other cases of a round. */
const LONG_RUN_UP_SECONDS = 2

/** Sends the same body to several servers. */
function compare(servers: readonly ServerName[], body: string, isSound: Cell['isSound']): readonly Cell[] {
  return servers.map((server) => {
    const path = server === 'a' || server === 'b' ? openai.wholePath : CHAT
    return { label: server, server, path, body, isSound }
  })
}

const burst = ask(writePrompt(400, BURST_MARKER), { stream: true })
const ALL: readonly ServerName[] = ['a', 'b', 'c', 'd', 'e']

const chats: readonly Case[] = [64, 10].flatMap((connections) => [
  {
    id: `chat-small-${connections}`,
    title: `whole responses, 0.5 KB prompt, ${connections} connections`,
    connections,
    base: 'b',
    cells: compare(ALL, small, isWhole),
    ...(connections === 64 && { quick: ['b', 'd', 'e'], turns: 3 }),
  },
  {
    id: `chat-large-${connections}`,
    title: `whole responses, 100 KB prompt, ${connections} connections`,
    connections,
    base: 'b',
    cells: compare(ALL, large, isWhole),
  },
  {
    id: `stream-${connections}`,
    title: `streams of ${STREAM_RECORDS} records that arrive together, ${connections} connections`,
    connections,
    base: 'b',
    cells: compare(ALL, streamed, isStream),
    ...(connections === 10 && { quick: ['b', 'd'] }),
  },
])

/** Well below capacity, so that the added latency is visible rather than queueing. */
const pacedStreams: Case = {
  id: 'paced-10',
  title: `streams of ${STREAM_RECORDS} records, one every ${PACE_MS} ms, 10 connections`,
  connections: 10,
  base: 'b',
  cells: compare(['a', 'b', 'd', 'e'], paced, isStream),
  weight: 5,
  spreadMs: PACE_MS * STREAM_RECORDS,
}

/** Where the records cost more than the rest of a request. */
const burstStreams: readonly Case[] = [64, 10].map((connections) => ({
  id: `burst-${connections}`,
  title: `streams of 103 records with padding, 32 per packet, ${connections} connections`,
  connections,
  base: 'b',
  cells: compare(ALL, burst, isStream),
}))

const otherProviders: readonly Case[] = others.flatMap(({ name, model, wholePath, streamPath }) => {
  const cells = (path: string, more: object, isSound: Cell['isSound']): readonly Cell[] => {
    const body = ask(writePrompt(400), { model: `${name}:${model}`, ...more })
    const direct = (server: 'a' | 'b') => ({ label: server, server, path, body, isSound })
    return [direct('a'), direct('b'), { label: 'd', server: 'd', path: CHAT, body, isSound }]
  }
  const shared = { connections: 10, base: 'b' }
  return [
    {
      ...shared,
      id: `${name}-whole-10`,
      title: `${name}: whole responses, 0.5 KB prompt, 10 connections`,
      cells: cells(wholePath, {}, isWhole),
    },
    {
      ...shared,
      id: `${name}-stream-10`,
      title: `${name}: streams of ${STREAM_RECORDS} records that arrive together, 10 connections`,
      cells: cells(streamPath, { stream: true }, isStream),
      ...((name === 'anthropic' || name === 'gemini') && { quick: ['b', 'd'] }),
    },
  ]
})

const manyRules: Case = {
  id: 'rules-64',
  title: '5,000 rules compared with 10, whole responses, 0.5 KB prompt, 64 connections',
  connections: 64,
  base: 'ten rules',
  cells: compare(['ten rules', '5,000 rules'], small, isWhole),
  turns: 3,
  quick: ['ten rules', '5,000 rules'],
}

const ledger: Case = {
  id: 'ledger-64',
  title: 'ledger, costs and budgets compared with none, whole responses, 0.5 KB prompt, 64 connections',
  connections: 64,
  base: 'no ledger',
  cells: compare(['no ledger', 'd', 'budgets', 'b'], small, isWhole),
  runUpSeconds: LONG_RUN_UP_SECONDS,
  turns: 3,
}

const responses: readonly Case[] = [64, 10].map((connections) => ({
  id: `responses-${connections}`,
  title: `/v1/responses, stored durably, compared with chat, gateway without rules, ${connections} connections`,
  connections,
  base: 'chat',
  cells: [
    { label: 'chat', server: 'c', path: CHAT, body: small, isSound: isWhole },
    {
      label: 'responses',
      server: 'c',
      path: '/v1/responses',
      body: JSON.stringify({ model: 'gpt-4o', input: writePrompt(400) }),
      isSound: isWhole,
    },
  ],
  ...(connections === 64 && { quick: ['chat', 'responses'], turns: 3 }),
}))

const workers: Case = {
  id: 'workers-64',
  title: 'two processes compared with one, whole responses, 0.5 KB prompt, 64 connections',
  connections: 64,
  base: 'd',
  warmUpConnections: 32,
  runUpSeconds: LONG_RUN_UP_SECONDS,
  cells: compare(['d', '2 workers'], small, isWhole),
}

const middleware: readonly Case[] = [
  {
    id: 'middleware-whole-64',
    title: 'with a no-op Koa middleware compared with none, whole responses, 0.5 KB prompt, 64 connections',
    connections: 64,
    base: 'c',
    cells: compare(['c', 'middleware'], small, isWhole),
    runUpSeconds: LONG_RUN_UP_SECONDS,
    turns: 3,
  },
  {
    id: 'middleware-stream-10',
    title: `with a no-op Koa middleware compared with none, streams of ${STREAM_RECORDS} records, 10 connections`,
    connections: 10,
    base: 'c',
    cells: compare(['c', 'middleware'], streamed, isStream),
    runUpSeconds: LONG_RUN_UP_SECONDS,
  },
]

const rule = JSON.stringify({
  name: 'No secrets',
  is_enabled: true,
  priority: 0,
  scope: 'prompt',
  type: 'regex',
  pattern: '\\bsecret[-_ ]?\\d+\\b',
  action: 'block',
})

/** All rules belong to one user, and accumulate during the run. */
const creations: readonly Case[] = [1, 64].map((connections) => ({
  id: `create-${connections}`,
  title: `creating firewall rules, ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
  connections,
  base: 'rules',
  warmUpSeconds: 1,
  cells: [
    {
      label: 'rules',
      server: 'rules',
      path: '/v1/firewall-rules',
      body: rule,
      isSound: (text) => text.includes('No secrets'),
    },
  ],
}))

export const CASES: readonly Case[] = [
  ...chats,
  pacedStreams,
  ...burstStreams,
  manyRules,
  ledger,
  ...responses,
  ...otherProviders,
  workers,
  ...middleware,
  ...creations,
]

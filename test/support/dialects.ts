import { chatBody } from './bodies.ts'
import type { RunningGateway } from './gateway.ts'

/** Each dialect: how to ask, and how to read the text of a response. */
export const DIALECTS = {
  'chat completions': {
    url: (gateway: RunningGateway) => `${gateway.url}/v1/chat/completions`,
    body: (model: string, text: string) => chatBody(text, { model }),
    textOf: (body: Body) => body.choices[0]?.message.content ?? '',
    deltaOf: (record: Body) => record.choices?.[0]?.delta?.content ?? '',
    streams: true,
  },
  responses: {
    url: (gateway: RunningGateway) => `${gateway.url}/v1/responses`,
    body: (model: string, input: string) => ({ model, input }),
    textOf: ({ output }: Body) =>
      output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join(''),
    deltaOf: (record: Body) => (record.type === 'response.output_text.delta' ? record.delta : ''),
    streams: true,
  },
  route: {
    url: (gateway: RunningGateway) => `${gateway.routeUrl}/route`,
    body: (_: string, prompt: string) => ({ prompt }),
    textOf: (body: Body) => body.choices[0]?.message.content ?? '',
    deltaOf: () => '',
    streams: false,
  },
} as const

// biome-ignore lint/suspicious/noExplicitAny: a body of any dialect
export type Body = any

/** The records of an SSE text. */
export function readRecords(text: string): Body[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
}

import type { JsonObject } from '../../core/contract/index.ts'
import type { Random } from '../../core/util/random.ts'

/** What a team asks models for. */
export interface Topic {
  readonly prompts: readonly string[]
  /** `metadata.task` of its requests. */
  readonly task?: string
  /** Usual tokens of the prompt, with the context that an application adds, and of the reply. */
  readonly tokens: readonly [input: number, output: number]
}

/** All names, numbers and keys are made up, or examples from the documentation of their issuers. */
export const TOPICS = {
  support: {
    tokens: [900, 220],
    prompts: [
      'Answer this customer: my parcel has not arrived since Monday. Order 48213.',
      'Answer this customer: I was charged twice. My card is 4111 1111 1111 1111.',
      'Answer this customer: please send the refund to DE89 3704 0044 0532 0130 00.',
      'Answer this customer, who wrote from ada.lovelace@mail.example.com: how do I change my plan?',
      'Summarize this conversation for the next shift, in three sentences.',
      'Translate into Portuguese: your replacement is on its way and arrives on Thursday.',
      'Is this message a complaint, a question or praise? "The new app is so much faster."',
    ],
  },
  code: {
    tokens: [6500, 1400],
    task: 'code',
    prompts: [
      'Why does this test fail only when it runs after the others?',
      'Write a migration that adds an index on orders (customer_id, created_at).',
      'Review this change for races and missing error handling.',
      'Explain this stack trace: TypeError: Cannot read properties of undefined (reading "id")',
      'Deploy with AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE and tell me why it is denied.',
      'Turn these callbacks into async functions without changing their order.',
    ],
  },
  legal: {
    tokens: [14_000, 900],
    prompts: [
      'List the notice periods in this contract, with the numbers of their clauses.',
      'Compare both versions of the contract and mark what is worse for us.',
      'Which clauses of this contract limit our liability, and to how much?',
      'Draft a polite reminder for an invoice that is 30 days late.',
    ],
  },
  research: {
    tokens: [3200, 1100],
    prompts: [
      'Outline a survey on how small shops choose their payment provider.',
      'Summarize the interviews about Project Falcon in five theses.',
      'What would have to be true for the forecast of the third quarter to hold?',
      'Prepare questions for the Project Falcon pricing workshop.',
      'Extract all figures from this report as a table.',
    ],
  },
  batch: {
    tokens: [420, 60],
    task: 'classify',
    prompts: [
      'Classify this product: stainless steel water bottle, 750 ml.',
      'Classify this product: cotton curtains, set of two, grey.',
      'Classify this product: USB-C cable, 2 m, braided.',
      'Does this review mention the delivery? "Came a day early, well packed."',
    ],
  },
} satisfies Readonly<Record<string, Topic>>

export type TopicName = keyof typeof TOPICS

/** The endpoints that the applications call, by their share in percent. */
const ENDPOINTS = [
  { share: 70, endpoint: 'chat', path: '/v1/chat/completions' },
  { share: 18, endpoint: 'responses', path: '/v1/responses' },
  { share: 12, endpoint: 'messages', path: '/v1/messages' },
] as const

/** What tells the requests of a topic apart: learned routing would see a few prompts again and again. */
const CONTEXTS = [
  ...['For the branch in', 'Our colleagues wait in', 'The customer lives in', 'It is about the shop in'],
  ...['Send the answer to', 'The deadline is set by', 'The last one came from', 'Keep it short for'],
] as const
const PLACES = (
  'Lisbon Porto Braga Faro Turin Milan Genoa Bologna Vienna Graz Linz Salzburg Lyon Nantes Lille Rennes ' +
  'Ghent Bruges Leuven Antwerp Aarhus Odense Malmo Uppsala Bergen Stavanger Tampere Turku Cork Galway ' +
  'Leeds York Bath Krakow Gdansk Lublin Brno Ostrava Zadar Split Rijeka Pula Seville Malaga Bilbao Vigo'
).split(' ')

/** A request as an application sends it. */
export interface DemoRequest {
  readonly endpoint: (typeof ENDPOINTS)[number]['endpoint']
  readonly path: string
  readonly body: JsonObject
}

export function buildDemoRequest(topic: Topic, model: string, random: Random): DemoRequest {
  const content = `${random.pick(topic.prompts)} ${random.pick(CONTEXTS)} ${random.pick(PLACES)}.`
  const { endpoint, path } = random.weighted(ENDPOINTS)
  const input = endpoint === 'responses' ? { input: content } : { messages: [{ role: 'user', content }] }
  const limit = endpoint === 'messages' ? { max_tokens: 4096 } : {}
  const hasTask = topic.task !== undefined && endpoint !== 'messages'
  const metadata = hasTask ? { metadata: { task: topic.task } } : {}
  return { endpoint, path, body: { model, stream: random.chance(0.55), ...input, ...limit, ...metadata } }
}

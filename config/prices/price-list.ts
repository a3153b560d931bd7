import type { Model, Price } from '../../core/contract/index.ts'

/** A price in USD per million tokens, or `above`: the input tokens from which the prices `above …` apply. */
export const PRICE_NAMES = [
  'input',
  'cached',
  'cache_write',
  'output',
  'reasoning',
  'above',
  'above input',
  'above cached',
  'above cache_write',
  'above output',
] as const

export type PriceName = (typeof PRICE_NAMES)[number]

/** The prices of a model. A price that a list does not have is unknown. */
export interface ListedPrices {
  readonly provider: string
  /** A name of the model at the provider. */
  readonly model: string
  readonly prices: ReadonlyMap<PriceName, number>
  readonly facts?: ListedFacts
}

/** What a list says about a model besides its prices. Undefined: nothing. */
export interface ListedFacts {
  /** False if the model is not one of chats, or answers with something else than text. */
  readonly isChat: boolean
  readonly isDeprecated: boolean
  readonly retires: string | undefined
  readonly context: number | undefined
  readonly maxOutput: number | undefined
  readonly tools: boolean
  readonly images: boolean
  readonly schema: boolean
  readonly reasoning: boolean
  readonly sampling: boolean | undefined
  /** Whether OpenAI's Responses API is needed: `always` if nothing else serves the model. */
  readonly responses: 'always' | false | undefined
}

/** Returns the prices of a row of the catalogue. Prices that it leaves out are those of input and output. */
export function listCatalogPrices({ provider, id, price }: Pick<Model, 'provider' | 'id' | 'price'>) {
  const prices = new Map<PriceName, number>([...listPrices(price), ['reasoning', price.output]])
  if (price.above !== undefined) {
    prices.set('above', price.above.input_tokens)
    for (const [name, value] of listPrices(price.above)) prices.set(`above ${name}`, value)
  }
  return { provider, model: id, prices } satisfies ListedPrices
}

function listPrices({ input, cached = input, cache_write = input, output }: Price) {
  return Object.entries({ input, cached, cache_write, output }) as [
    'input' | 'cached' | 'cache_write' | 'output',
    number,
  ][]
}

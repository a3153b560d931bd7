import type { ChatRequest, ContentPart, Exchange, Message, Position } from '../../core/contract/index.ts'
import { RecordedFeatures } from '../ledger/index.ts'
import type { LoadedRouter } from './active-routers.ts'
import {
  encodeFeaturesAsText,
  type FeatureKey,
  type PromptFeatures,
  type PromptText,
  scanPrompt,
} from './features.ts'
import type { RouterReplay } from './router-replay.ts'

/** What learned routing knows about the prompt of one request. */
export interface PromptAssessment {
  /** Version of the router; 0 if none is active. */
  readonly version: number
  /** Whether P(good | prompt) replaces the catalogue's constants; false in the shadow. */
  readonly decides: boolean
  /** The share of automatic choices that are drawn. */
  readonly explore: number
  /** Two numbers from 0 to 1 that follow from the request id: whether to draw, and what. */
  readonly draws: readonly [number, number]
  /** P(good | prompt) of a model; undefined if the version does not know it well enough. */
  probabilityOf(modelId: string): number | undefined
}

export interface LearnedRoutingMode {
  readonly learned: 'off' | 'shadow' | 'on'
  readonly explore: number
}

/** Sets the features of the exchange, and returns what the active version says about it. */
export type AssessPrompt = (exchange: Exchange) => PromptAssessment

export function createPromptAssessor(
  { learned, explore }: LearnedRoutingMode,
  key: FeatureKey,
  routerOf: (userId: number, rulesPosition: Position) => LoadedRouter | undefined,
  replay?: Pick<RouterReplay, 'of'>,
): AssessPrompt {
  const decides = learned === 'on'
  return (exchange) => {
    const features = scanPrompt(readPrompt(exchange.request), key)
    RecordedFeatures.set(exchange, encodeFeaturesAsText(features))
    const replayed = exchange.isSimulated === true ? replay?.of(exchange) : undefined
    const router = replayed?.past
      ? replayed.past.router
      : routerOf(exchange.account.userId, exchange.rulesPosition)
    const isDrawn = exchange.isSimulated !== true || replayed?.draws === true
    const share = decides && isDrawn ? explore : 0
    return new RouterAssessment(exchange.id, features, router, decides, share)
  }
}

/** Assesses features that were kept, as when the request was made. Nothing is drawn. */
export function assessFeatures(features: PromptFeatures, router: LoadedRouter | undefined): PromptAssessment {
  return new RouterAssessment('', features, router, true, 0)
}

class RouterAssessment implements PromptAssessment {
  readonly version: number
  readonly decides: boolean
  readonly explore: number
  readonly #requestId: string
  readonly #router: LoadedRouter | undefined
  /** By column of the router's models. */
  readonly #probabilities: Float64Array | undefined

  constructor(
    requestId: string,
    features: PromptFeatures,
    router: LoadedRouter | undefined,
    decides: boolean,
    explore: number,
  ) {
    this.version = router?.version ?? 0
    this.decides = decides && router !== undefined
    this.explore = explore
    this.#requestId = requestId
    this.#router = router
    // Immediately, because the next prompt overwrites the features.
    this.#probabilities = router?.models.predictAll(features)
  }

  get draws(): readonly [number, number] {
    return [drawFrom(this.#requestId, 1), drawFrom(this.#requestId, 2)]
  }

  probabilityOf(modelId: string): number | undefined {
    const column = this.#router?.models.columnOf(modelId)
    return column === undefined ? undefined : this.#probabilities?.[column]
  }
}

/** A number from 0 to 1, evenly spread over ids, which are random: a decision can be made again. */
function drawFrom(requestId: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed
  for (let index = 0; index < requestId.length; index++)
    hash = Math.imul(hash ^ requestId.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** The texts that features are taken from: the last message of the user, and the first of the system. */
function readPrompt({ messages }: Pick<ChatRequest, 'messages'>): PromptText {
  let lastUserMessage = ''
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    if (message?.role !== 'user') continue
    lastUserMessage = textOf(message)
    break
  }
  const system = messages.find(({ role }) => role === 'system' || role === 'developer')
  return { lastUserMessage, ...(system && { systemPrompt: textOf(system) }) }
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }: ContentPart) => text ?? '').join('\n')
}

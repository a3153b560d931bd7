import { expect } from 'chai'
import type { Body } from './dialects.ts'
import type { RunningGateway } from './gateway.ts'

/** Token counts of a body of any dialect. */
export interface CountedTokens {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
}

/** Computes what an answer costs, from its usage and the prices that `GET /v1/models` shows. */
export type PriceOf = (model: string, tokens: CountedTokens) => number

export async function readPrices(gateway: RunningGateway): Promise<PriceOf> {
  const { body } = await gateway.call('GET', '/v1/models')
  const prices = new Map<string, Body>(body.data.map(({ id, price }: Body) => [id, price]))
  return (model, { input, cached, cacheWrite, output }) => {
    const price = prices.get(model) ?? expect.fail(`${model} has no price`)
    const row = price.above && input > price.above.input_tokens ? price.above : price
    return (
      ((input - cached - cacheWrite) * row.input +
        cached * (row.cached ?? row.input) +
        cacheWrite * (row.cache_write ?? row.input) +
        output * row.output) /
      1e6
    )
  }
}

/** The usage of a chat completion, a response, a message or a result of direct routing. */
export function tokensOf({ usage }: Body): CountedTokens {
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
  if (read !== undefined) {
    const input = usage.input_tokens + read + written
    return { input, cached: read, cacheWrite: written, output: usage.output_tokens }
  }
  const details = usage.prompt_tokens_details ?? usage.input_tokens_details ?? {}
  return {
    input: usage.prompt_tokens ?? usage.input_tokens,
    cached: details.cached_tokens ?? 0,
    cacheWrite: details.cache_write_tokens ?? 0,
    output: usage.completion_tokens ?? usage.output_tokens,
  }
}

import type { Model, Price, Usage } from '../contract/index.ts'

/**
 * USD for what was used: (input − cached − cache writes) · input + cached · cached + cache writes · cache_write +
 * output · output, per million. A price tier holds for the whole request once its input is above the limit.
 */
export function costOf(model: Pick<Model, 'price'>, usage: Usage): number {
  const { input, output, cached = 0, cacheWrite = 0 } = usage
  const price = priceFor(model, input)
  const sum =
    (input - cached - cacheWrite) * price.input +
    cached * (price.cached ?? price.input) +
    cacheWrite * (price.cache_write ?? price.input) +
    output * price.output
  return sum / 1e6
}

function priceFor({ price }: Pick<Model, 'price'>, input: number): Price {
  return price.above !== undefined && input > price.above.input_tokens ? price.above : price
}

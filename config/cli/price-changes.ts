import { formatColumns } from './output.ts'
import type { PriceName } from './price-list.ts'

/** A line of a comparison of the catalogue with a list of prices. */
export interface PriceChange {
  /** `dearer` and `cheaper`: what the list says. */
  readonly change: string
  readonly provider: string
  readonly model: string
  readonly price: PriceName | ''
  /** In the catalogue. */
  readonly here?: number | undefined
  /** In the list. A text instead of a price explains the change. */
  readonly there?: number | string | undefined
}

export function comparePrice(price: PriceName, here: number | undefined, there: number | undefined) {
  if (price === 'above' || here === undefined || there === undefined) return 'differs'
  return there > here ? 'dearer' : 'cheaper'
}

const HEADINGS = ['CHANGE', 'PROVIDER', 'MODEL', 'PRICE', 'HERE', 'THERE', '']

/** One line for each change, in columns. */
export function formatPriceChanges(changes: readonly PriceChange[]): readonly string[] {
  return changes.length === 0 ? [] : formatColumns([HEADINGS, ...changes.map(toCells)])
}

function toCells({ change, provider, model, price, here, there }: PriceChange): readonly string[] {
  if (typeof there === 'string') return [change, provider, model, '', '', there, '']
  const name = price === '' ? 'input' : price
  const share = here === undefined || there === undefined || price === 'above' ? '' : formatShare(here, there)
  return [change, provider, model, name, String(here ?? '-'), String(there ?? '-'), share]
}

function formatShare(here: number, there: number): string {
  if (here === 0) return ''
  const percent = Math.round((there / here - 1) * 1000) / 10
  return `${percent > 0 ? '+' : ''}${percent} %`
}

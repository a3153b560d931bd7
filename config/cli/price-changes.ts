import type { PriceChange } from '../prices/compare-prices.ts'
import { formatColumns } from './output.ts'

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

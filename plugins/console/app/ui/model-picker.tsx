import { get } from '../lib/api.ts'
import { useResource } from '../lib/data.ts'
import { formatUsd, humanize } from '../lib/format.ts'
import type { Model } from '../lib/schemas.ts'
import { isOperator } from '../lib/session.ts'
import { Combobox } from './combobox.tsx'

/** A model that rules can name, with its price in USD per million tokens. */
export interface ModelChoice {
  readonly id: string
  readonly provider: string
  readonly operation?: string
  /** Missing for users, who see only what they may use. */
  readonly state?: string
  readonly price?: { readonly input: number; readonly output: number }
  /** In place of provider and price. */
  readonly note?: string
}

export const ROUTING_MODES: readonly ModelChoice[] = [
  { id: 'auto:balance', provider: '', note: 'quality for its price' },
  { id: 'auto:cost', provider: '', note: 'the cheapest' },
  { id: 'auto:quality', provider: '', note: 'the best' },
  { id: 'auto:latency', provider: '', note: 'the fastest' },
]

/** The models for chats that the user of the session may use. */
export async function readOwnModels(): Promise<readonly (Model & ModelChoice)[]> {
  const models = await get<readonly (Model & ModelChoice)[]>('/v1/models')
  return models.filter(({ operation }) => operation === 'chat')
}

/** The models of the catalogue that answer chats; for users, those that they may use. */
export function useModels(): readonly ModelChoice[] {
  return useResource('models', readModels).data ?? []
}

async function readModels(): Promise<readonly ModelChoice[]> {
  const models: readonly ModelChoice[] = isOperator()
    ? (await get<{ readonly models: readonly ModelChoice[] }>('/admin/models')).models
    : await readOwnModels()
  return models.filter(({ operation, price }) => operation === 'chat' && price !== undefined)
}

export function describePrice({ provider, price, state = 'available', note }: ModelChoice): string {
  if (note !== undefined) return note
  const who = state === 'available' ? provider : `${provider}, ${humanize(state)}`
  if (price === undefined) return who
  return `${who} · ${formatUsd(price.input)} in, ${formatUsd(price.output)} out per million tokens`
}

interface ModelPickerProps {
  readonly label: string
  readonly models: readonly ModelChoice[]
  readonly value: string
  readonly onChange: (model: string) => void
}

/** Chooses a model by a part of its name or of its provider's, or takes any other name. */
export function ModelPicker({ label, models, value, onChange }: ModelPickerProps) {
  const chosen = models.find(({ id, provider }) => id === value || `${provider}/${id}` === value)
  return (
    <Combobox
      label={label}
      value={value}
      required
      hint={chosen && describePrice(chosen)}
      search={async (text) => findModels(models, text)}
      onChange={({ id }) => onChange(id)}
    />
  )
}

function findModels(models: readonly ModelChoice[], text: string) {
  const words = text.toLowerCase().split(/\s+/)
  const found = models.filter(({ id, provider }) => {
    const name = `${provider}/${id}`.toLowerCase()
    return words.every((word) => name.includes(word))
  })
  const options = found.map((model) => ({ id: model.id, name: model.id, note: describePrice(model) }))
  const isOther = text !== '' && !found.some(({ id }) => id === text)
  return isOther ? [...options, { id: text, name: text, note: 'another name' }] : options
}

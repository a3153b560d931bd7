import type { Exchange } from './exchange.ts'

/** A name of something that one plugin offers to others, with its type. */
export interface Service<Offered> {
  /** Unique; the name of the plugin that provides it, or begins with it: `budget`, `routing.catalog`. */
  readonly name: string
  readonly isOptional?: boolean
  /** The type only: no service has this field. */
  readonly offered?: Offered
}

/** A service that a plugin does without if no listed plugin provides it. */
export interface OptionalService<Offered> extends Service<Offered> {
  readonly isOptional: true
}

/** Services that a plugin needs, by the name under which `setup` gets them. */
export type Uses = Readonly<Record<string, Service<unknown>>>

/** What `setup` gets for `uses`. */
export type UsedServices<Used extends Uses> = {
  readonly [Key in keyof Used]: Used[Key] extends OptionalService<infer Offered>
    ? Offered | undefined
    : Used[Key] extends Service<infer Offered>
      ? Offered
      : never
}

/** Declares a service. Two copies of a declaration with the same name are the same service. */
export function service<Offered>(name: string): Service<Offered> {
  return { name }
}

/** For `uses`: the service is undefined if no listed plugin provides it. */
export function optional<Offered>({ name }: Service<Offered>): OptionalService<Offered> {
  return { name, isOptional: true }
}

/** A section of the settings, as a service that the gateway provides. */
export function settingsOf<Section>(section: string): Service<Section> {
  return { name: `settings.${section}` }
}

/** Typed data that a plugin keeps on an exchange. */
export interface Slot<Value> {
  of(exchange: Pick<Exchange, 'state'>): Value | undefined
  set(exchange: Pick<Exchange, 'state'>, value: Value | undefined): void
}

/** Declares data on an exchange. Only who has the slot can read it. `name` is for debugging. */
export function slot<Value>(name: string): Slot<Value> {
  const key = Symbol(name)
  return {
    of: ({ state }) => (state as Slots<Value>)[key],
    set: ({ state }, value) => {
      ;(state as Slots<Value>)[key] = value
    },
  }
}

type Slots<Value> = Record<symbol, Value | undefined>

/**
 * Makes `instanceof` hold for this class's errors of every copy of Signalbox in the process: a plugin package may have brought a
 * copy of its own, and what it throws must answer as ours does. Subclasses are told apart as usual.
 */
export function recognizeAcrossCopies(branded: { readonly prototype: Error }, name: string): void {
  const mark = Symbol.for(`signalbox.${name}`)
  Object.defineProperty(branded.prototype, mark, { value: true })
  Object.defineProperty(branded, Symbol.hasInstance, {
    value(this: unknown, thrown: unknown): boolean {
      if (this === branded) return thrown instanceof Error && mark in thrown
      return Function.prototype[Symbol.hasInstance].call(this, thrown)
    },
  })
}

const PREFIX = 'signalbox.'

/** An error that every copy of Signalbox in this process recognizes: plugins may have bundled their own. */
export abstract class SignalboxError extends Error {
  /** Identifies the class in all copies. Classes that extend it share the brand. */
  static readonly brand: `${typeof PREFIX}${string}` = 'signalbox.SignalboxError'

  /** Also true for errors of another copy. */
  static isInstance<Instance extends SignalboxError>(
    this: { readonly brand: string; readonly prototype: Instance },
    error: unknown,
  ): error is Instance {
    if (!(error instanceof Error)) return false
    const { brand } = error.constructor as Partial<typeof SignalboxError>
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on is the one to recognize
    return brand === this.brand
  }

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.brand.slice(PREFIX.length)
  }
}

/** A value that is there, or will be: what seldom has to wait does without a promise, which on the way of every request would cost more than the work. */
export type Soon<Value> = Value | Promise<Value>

/** Goes on with a value, at once when it is there. Whatever has a `then` is waited for: plugins may have promises of another kind. */
export function whenThere<Value, Result>(
  value: Soon<Value>,
  goOn: (value: Value) => Promise<Result>,
): Promise<Result>
export function whenThere<Value, Result>(
  value: Soon<Value>,
  goOn: (value: Value) => Soon<Result>,
): Soon<Result>
export function whenThere<Value, Result>(
  value: Soon<Value>,
  goOn: (value: Value) => Soon<Result>,
): Soon<Result> {
  return isToCome(value) ? Promise.resolve(value).then(goOn) : goOn(value)
}

function isToCome<Value>(value: Soon<Value>): value is Promise<Value> {
  return typeof (value as { readonly then?: unknown } | undefined | null)?.then === 'function'
}

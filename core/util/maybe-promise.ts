/** A value that is there, or will be: what seldom has to wait does without a promise, which on the way of every request would cost more than the work. */
export type MaybePromise<Value> = Value | Promise<Value>

/** Goes on with a value, at once when it is there. Whatever has a `then` is waited for: plugins may have promises of another kind. */
export function chain<Value, Result>(
  value: MaybePromise<Value>,
  goOn: (value: Value) => Promise<Result>,
): Promise<Result>
export function chain<Value, Result>(
  value: MaybePromise<Value>,
  goOn: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result>
export function chain<Value, Result>(
  value: MaybePromise<Value>,
  goOn: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return isPromiseLike(value) ? Promise.resolve(value).then(goOn) : goOn(value)
}

function isPromiseLike<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return typeof (value as { readonly then?: unknown } | undefined | null)?.then === 'function'
}

import type { MaybePromise } from '../contract/json.ts'

export type { MaybePromise }

/**
 * Calls `next` with the value: immediately, or when the promise resolves. Waits for every object with a
 * `then` method, because plugins may use promises of another realm or library.
 */
export function chain<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => Promise<Result>,
): Promise<Result>
export function chain<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result>
export function chain<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return isPromiseLike(value) ? Promise.resolve(value).then(next) : next(value)
}

export function isPromiseLike<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return typeof (value as { readonly then?: unknown } | undefined | null)?.then === 'function'
}

/** Composes functions to one that calls them in turn, each when the one before has ended. */
export function inTurn<Value>(
  calls: readonly ((value: Value) => MaybePromise<void>)[],
): (value: Value) => MaybePromise<void> {
  const last = calls.length - 1
  function run(value: Value, from: number): MaybePromise<void> {
    for (let index = from; index <= last; index++) {
      const done = calls[index]?.(value)
      if (!isPromiseLike(done)) continue
      return index === last ? done : Promise.resolve(done).then(() => run(value, index + 1))
    }
  }
  return (value) => run(value, 0)
}

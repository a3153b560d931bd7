/** A value that is there, or will be: what seldom has to wait does without a promise, which on the way of every request would cost more than the work. */
export type Soon<Value> = Value | Promise<Value>

/** Goes on with a value, at once when it is there. */
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
  return value instanceof Promise ? value.then(goOn) : goOn(value)
}

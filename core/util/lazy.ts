/** Returns a function that creates a value on its first call and returns the same value on later calls. */
export function lazy<Value>(create: () => Value): () => Value {
  let created: { readonly value: Value } | undefined
  return () => {
    created ??= { value: create() }
    return created.value
  }
}

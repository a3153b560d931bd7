/** Creates a value on its first use. A copy of `core/util/lazy.ts`, as nothing is imported from there. */
export function lazy<Value>(create: () => Value): () => Value {
  let created: { readonly value: Value } | undefined
  return () => {
    created ??= { value: create() }
    return created.value
  }
}

/** A function that creates its value when it is first called. */
export function once<Value>(create: () => Value): () => Value {
  let created: { readonly value: Value } | undefined
  return () => {
    created ??= { value: create() }
    return created.value
  }
}

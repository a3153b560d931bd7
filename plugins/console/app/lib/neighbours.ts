/** The ids of the list of requests that was shown last, in its order. */
let shown: readonly string[] = []

export function rememberRequests(ids: readonly string[]): void {
  shown = ids
}

/** Returns the requests before and after one in the list that was shown last. */
export function findNeighbours(id: string): { readonly before?: string; readonly after?: string } {
  const index = shown.indexOf(id)
  if (index === -1) return {}
  const [before, after] = [shown[index - 1], shown[index + 1]]
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) }
}

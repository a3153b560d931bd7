/** Names with `:` and ARNs with `/` are one segment. Signatures encode the path once more. */
export function modelPath(model: string, operation: string): string {
  return `/model/${encodeURIComponent(model)}/${operation}`
}

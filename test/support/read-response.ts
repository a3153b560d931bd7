/** Returns the body of a response; of the stream that has no end, its first part. */
export async function readResponse(response: Response): Promise<string> {
  const isEndless = response.ok && new URL(response.url).pathname === '/admin/live'
  if (!isEndless || response.body === null) return response.text()
  const reader = response.body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value)
}

/** `{model}` in the path of a base URL, as `URL` encodes it. */
const MODEL_IN_PATH = '%7Bmodel%7D'

/** Creates a function that returns the path of a request behind that of the base URL, with the query. */
export function createPathBuilder(
  baseUrl: string,
  parameters: Readonly<Record<string, string>> = {},
): (path: string, model: string) => string {
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const namesModel = base.includes(MODEL_IN_PATH)
  const query = new URLSearchParams(parameters).toString()
  return (path, model) => {
    const own = namesModel ? base.replaceAll(MODEL_IN_PATH, () => toPathSegment(model)) : base
    return addQuery(own + path, query)
  }
}

/** A model may not lead to another path. */
function toPathSegment(model: string): string {
  const segment = encodeURIComponent(model)
  return /^\.{1,2}$/.test(segment) ? segment.replaceAll('.', '%2E') : segment
}

function addQuery(path: string, query: string): string {
  if (query === '') return path
  return path + (path.includes('?') ? '&' : '?') + query
}

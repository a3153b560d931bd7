import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Answer } from './gateway.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into by assertions
export type Loose = any

/** One method of one path, as the document has it. */
export interface Described {
  readonly method: string
  readonly path: string
  readonly operation: Loose
  /** Those of the path too. */
  readonly parameters: readonly Loose[]
  /** By name; nothing when the operation takes no body. */
  readonly examples: readonly (readonly [string, Loose])[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

export function operationsOf({ paths }: Loose): readonly Described[] {
  return Object.entries<Loose>(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => {
      const operation = item[method]
      const examples = Object.entries<Loose>(
        operation.requestBody?.content['application/json'].examples ?? {},
      )
      return {
        method: method.toUpperCase(),
        path,
        operation,
        parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])],
        examples: examples.map(([name, { value }]) => [name, value] as const),
      }
    }),
  )
}

/** Checks values by the schemas of a document. */
export function createJudge(document: Loose) {
  const formats = {
    int32: true,
    int64: true,
    double: true,
    uri: true,
    'date-time': /^\d{4}-\d\d-\d\dT.+Z$/,
  } as const
  // Validators run once or twice: optimizing their code would take longest.
  const cheap = { inlineRefs: false, code: { optimize: false } }
  const ajv = new Ajv2020({ allowUnionTypes: true, allErrors: true, formats, ...cheap })
  ajv.addVocabulary([...Object.keys(document), 'discriminator'])
  ajv.addSchema(document, 'document')

  function compile(...way: readonly string[]) {
    const pointer = way.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
    const check = ajv.getSchema(`document#${encodeURI(pointer).replaceAll('#', '%23')}`)
    if (check === undefined) throw new Error(`the document has no ${pointer}`)
    return (value: unknown): string | undefined => {
      if (check(value) === true) return undefined
      return `${ajv.errorsText(check.errors)}: ${JSON.stringify(value)}`
    }
  }

  return {
    compile,
    /** What is wrong with a request's body; undefined when it is as the document says. */
    judgeBody({ method, path }: Described, body: unknown): string | undefined {
      const way = [
        'paths',
        path,
        method.toLowerCase(),
        'requestBody',
        'content',
        'application/json',
        'schema',
      ]
      return compile(...way)(body)
    },
    /**
     * What is wrong with an answer: its status, headers, body, or a record of its stream; undefined when it
     * is as the document says.
     */
    judge({ method, path, operation }: Described, answer: Answer): string | undefined {
      const { status, headers, body } = answer
      const type = headers.get('content-type')?.split(';')[0] ?? ''
      const response = operation.responses[status]
      if (response !== undefined && type === '' && body === '') return undefined
      if (response?.content?.[type] === undefined)
        return `${status} ${type} is not described: ${JSON.stringify(body)}`
      const missing = Object.entries<Loose>(response.headers).find(
        ([name, header]) => resolve(header).required && headers.get(name) === null,
      )
      if (missing !== undefined) return `${status} has no header ${missing[0]}`
      const way = ['paths', path, method.toLowerCase(), 'responses', `${status}`, 'content', type, 'schema']
      const values = type === 'text/event-stream' ? recordsOf(body) : [body]
      return values.map(compile(...way)).find((fault) => fault !== undefined)
    },
  }

  function resolve(header: Loose): Loose {
    return header.$ref === undefined ? header : document.components.headers[header.$ref.split('/').at(-1)]
  }
}

/** The data of the records of a stream, without the text that ends it. */
function recordsOf(text: string): readonly unknown[] {
  return [...text.matchAll(/^data: (?!\[DONE\])(.+)$/gm)].map(([, data]) => JSON.parse(data ?? ''))
}

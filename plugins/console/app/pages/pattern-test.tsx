import { useEffect, useState } from 'preact/hooks'
import { type ApiError, send } from '../lib/api.ts'
import type { RuleContent } from '../lib/drafts.ts'
import { toError } from '../lib/resource.ts'
import { TextField } from '../ui/fields.tsx'

interface TestResult {
  readonly pattern_error: string | null
  readonly is_match: boolean
  readonly is_finished: boolean
  readonly matches: readonly { readonly start: number; readonly end: number }[]
  readonly masked: string | null
}

const DELAY_MS = 250

/** Shows what a pattern matches in a text, by the engine of the gateway. */
export function PatternTest({ content }: { readonly content: RuleContent }) {
  const [text, setText] = useState('')
  const [result, setResult] = useState<TestResult>()
  const [error, setError] = useState<ApiError>()
  const { type, pattern, action, replacement } = content

  useEffect(() => {
    if (text === '' || pattern === '') return setResult(undefined)
    const controller = new AbortController()
    const body = { type, pattern, text, ...(replacement != null && { replacement }) }
    const timer = setTimeout(() => {
      send<{ data: TestResult }>('POST', '/admin/pattern-test', body, { signal: controller.signal }).then(
        ({ data }) => {
          setResult(data)
          setError(undefined)
        },
        (thrown: unknown) => controller.signal.aborted || setError(toError(thrown)),
      )
    }, DELAY_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text, type, pattern, replacement])

  return (
    <div class="pattern-test">
      <TextField
        label="Try it on a text"
        rows={3}
        value={text}
        onInput={setText}
        placeholder="Paste a text here. It is not stored."
      />
      {error && <p class="issue">{error.message}</p>}
      {result && (
        <output>
          <p class={result.pattern_error ? 'issue' : 'muted'}>{summarize(result)}</p>
          <Highlighted text={text} matches={result.matches} />
          {action === 'mask' && result.masked !== null && (
            <>
              <p class="muted">The provider would get:</p>
              <pre>{result.masked}</pre>
            </>
          )}
        </output>
      )}
    </div>
  )
}

function summarize({ pattern_error, matches, is_finished, is_match }: TestResult): string {
  if (pattern_error) return pattern_error
  if (!is_finished) return 'The pattern did not finish within its limits.'
  if (is_match && matches.length === 0) return 'It matches, but no part of the text.'
  return matches.length === 1 ? '1 match' : `${matches.length} matches`
}

function Highlighted({ text, matches }: { readonly text: string; readonly matches: TestResult['matches'] }) {
  let end = 0
  const parts = matches.map((match) => {
    const before = text.slice(end, match.start)
    end = Math.max(end, match.end)
    return (
      <>
        {before}
        <mark>{text.slice(match.start, match.end)}</mark>
      </>
    )
  })
  return (
    <pre>
      {parts}
      {text.slice(end)}
    </pre>
  )
}

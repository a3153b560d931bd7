import { showHidden } from '../lib/format.ts'

interface JsonTextProps {
  readonly label: string
  readonly value: unknown
}

/** JSON that others wrote, such as arguments of a tool call. What nobody would see is written as escapes. */
export function JsonText({ label, value }: JsonTextProps) {
  return (
    // The keyboard scrolls it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="json" aria-label={label} tabIndex={0}>
      <pre>{showHidden(toJson(value))}</pre>
    </section>
  )
}

interface Difference {
  /** JSON pointer. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** Where two JSON values differ. */
export function JsonDiff({ differences }: { readonly differences: readonly Difference[] }) {
  return (
    <dl class="diff json-diff">
      {differences.map(({ path, before, after }) => (
        <div key={path}>
          <dt>
            <code>{showHidden(path) || '/'}</code>
          </dt>
          <dd>
            {before !== undefined && <del>{showHidden(toText(before))}</del>}
            {after !== undefined && <ins>{showHidden(toText(after))}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const toJson = (value: unknown) => JSON.stringify(value, null, 2)

const toText = (value: unknown) => (typeof value === 'string' ? value : toJson(value))

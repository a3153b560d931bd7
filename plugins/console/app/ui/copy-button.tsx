import { useState } from 'preact/hooks'

/** Copies a text. Browsers allow that over HTTPS and on the same machine only; elsewhere, it is not shown. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [copied, setCopied] = useState('')
  if (!navigator.clipboard) return null
  return (
    <button
      type="button"
      onClick={() =>
        navigator.clipboard.writeText(text).then(
          () => setCopied(text),
          () => undefined,
        )
      }
    >
      {copied === text ? 'Copied' : label}
    </button>
  )
}

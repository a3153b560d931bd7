import { defineConfig } from 'vite'

/**
 * Builds the console into `dist`. See docs/decisions/console.md, "The page is a small bundle without a
 * framework of components".
 */
export default defineConfig({
  base: './',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../../dist/plugins/console/static',
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy allows no scripts and no images but files.
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
})

/// Runs the page's own script in node against a running simulator, on a document that can hold elements and text and
/// nothing more: no HTML parser, so that whatever the script makes is made element by element.
enum PageInNode {
    /// Arguments: the control port's URL. Prints each element with data attributes, then declares a phone, asks again as the
    /// page does by itself, and prints them again; last the kinds of elements and attributes that were made.
    static let script = #"""
        const names = new Set(), attributes = new Set();

        class Element {
            constructor(name) {
                names.add(name);
                this.name = name;
                this.attributes = new Map();
                this.childNodes = [];
                this.style = { setProperty() {} };
            }
            setAttribute(key, value) { attributes.add(key); this.attributes.set(key, String(value)); }
            getAttribute(key) { return this.attributes.get(key) ?? null; }
            append(...nodes) { for (const node of nodes) this.insertBefore(node, null); }
            insertBefore(node, before) {
                node.parent?.childNodes.splice(node.parent.childNodes.indexOf(node), 1);
                if (node instanceof Element) node.parent = this;
                const place = before ? this.childNodes.indexOf(before) : this.childNodes.length;
                this.childNodes.splice(place, 0, node instanceof Element ? node : String(node));
            }
            remove() { this.parent.childNodes.splice(this.parent.childNodes.indexOf(this), 1); this.parent = undefined; }
            replaceWith(node) { this.parent.insertBefore(node, this); this.remove(); }
            replaceChildren(...nodes) { for (const child of this.children) child.remove(); this.append(...nodes); }
            get children() { return this.childNodes.filter((node) => node instanceof Element); }
            get textContent() { return this.childNodes.map((node) => node.textContent ?? node).join(""); }
            set textContent(text) { this.childNodes = [String(text)]; }
            querySelectorAll(selector) {
                const [, name, attribute] = selector.match(/^(\w+)(?:\[([\w-]+)\])?$/);
                return this.children.flatMap((child) => [
                    ...(child.name === name && (!attribute || child.attributes.has(attribute)) ? [child] : []),
                    ...child.querySelectorAll(selector),
                ]);
            }
            print() {
                const data = [...this.attributes].filter(([key]) => key.startsWith("data-") && key !== "data-time");
                if (data.length > 0) console.log(data.map(([key, value]) => `${key}=${value}`).join(" "), "|", this.textContent);
                for (const child of this.children) child.print();
            }
        }

        (async () => {
            const base = process.argv[2];
            const page = await (await fetch(base + "/")).text();
            const script = await (await fetch(base + "/lock-screens.js")).text();
            const body = new Element("body");
            const byID = {};
            for (const [, name, id] of page.matchAll(/<(\w+)[^>]* id="([\w-]+)"/g)) {
                byID[id] = new Element(name);
                body.append(byID[id]);
            }
            names.clear();
            let next, asked;
            const waiting = () => new Promise((resolve) => { asked = resolve; });
            const document = {
                createElement: (name) => new Element(name),
                getElementById: (id) => byID[id],
                querySelectorAll: (selector) => body.querySelectorAll(selector),
            };
            const later = (callback) => { next = callback; asked(); };
            const run = new Function("document", "location", "fetch", "setTimeout", script);
            let drawn = waiting();
            run(document, { origin: base }, (path, options) => fetch(base + path, options), later);
            await drawn;
            body.print();
            const token = "ef".repeat(32);
            const declaration = { token, phone: "a new phone", kind: "activity", activity: "order-2" };
            await fetch(base + "/tokens", { method: "POST", body: JSON.stringify(declaration) });
            drawn = waiting();
            next();
            await drawn;
            console.log("--- again");
            body.print();
            console.log("elements", [...names].sort().join(" "));
            console.log("attributes", [...attributes].sort().join(" "));
        })();
        """#
}

"""Your own texts and label names, end to end, in memory."""

import longtail

texts = [
    "red apple and green pear pie", "a pie of apples", "slow stew of beef and beans", "beef roast with gravy",
    "pear tart with cream", "bean soup without meat", "apple and bean salad", "a stew of lamb",
]  # fmt: skip
labels = [
    ["dessert", "fruit"], ["dessert", "fruit"], ["meat", "main dish"], ["meat", "main dish"],
    ["dessert", "fruit"], ["main dish", "vegetarian"], ["vegetarian", "fruit"], ["meat", "main dish"],
]  # fmt: skip

model = longtail.fit("linear", longtail.Corpus.of(texts, labels))
for text, suggested in zip(["apple tart", "a roast of lamb"], model.predict(["apple tart", "a roast of lamb"], k=2)):
    print(text, "->", ", ".join(f"{label.name} {label.score:.2f}" for label in suggested))
